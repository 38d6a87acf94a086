// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/health_rules.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace plnet::lnet::health_rules_test {
namespace {

using enum HealthChange;

// A failed message of a node and a peer with two interfaces each.
MessageEnd failed(Health health) {
  return {.health = health,
          .failed = true,
          .sent = true,
          .local_nis = 2,
          .peer_nis = 2,
          .retries_max = 2};
}

TEST(HealthRules, blame_and_resends_are_those_of_the_kernel) {
  struct Row {
    Health health;
    HealthChange local;
    HealthChange peer;
    bool resend;
  };
  const std::vector<Row> rows = {
      {Health::kLocalInterrupt, kDemerit, kNone, true},
      {Health::kLocalDropped, kDemerit, kNone, true},
      {Health::kLocalAborted, kDemerit, kNone, true},
      {Health::kLocalNoRoute, kDemerit, kNone, true},
      {Health::kLocalTimeout, kDemerit, kNone, true},
      {Health::kLocalError, kDemerit, kNone, false},
      {Health::kRemoteDropped, kNone, kDemerit, true},
      {Health::kRemoteError, kNone, kDemerit, false},
      {Health::kRemoteTimeout, kNone, kDemerit, false},
      {Health::kNetworkTimeout, kDemerit, kDemerit, false},
  };
  ASSERT_EQ(rows.size(), kHealthCount - 1);
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(name_of(row.health)));
    const auto verdict = judge(failed(row.health));
    EXPECT_EQ(verdict.local, row.local);
    EXPECT_EQ(verdict.peer, row.peer);
    EXPECT_EQ(verdict.recover_peer, row.peer == kDemerit);
    EXPECT_EQ(verdict.resend, row.resend);
    EXPECT_FALSE(verdict.retries_exhausted);
    EXPECT_FALSE(verdict.reset_ping_counts);

    auto late = failed(row.health);
    late.late = true;
    EXPECT_EQ(judge(late), HealthVerdict{});
    auto odd = failed(row.health);
    odd.failed = false;
    EXPECT_EQ(judge(odd), HealthVerdict{});
    auto loopback = failed(row.health);
    loopback.loopback = true;
    EXPECT_EQ(judge(loopback), HealthVerdict{});
    auto uncommitted = failed(row.health);
    uncommitted.sent = false;
    EXPECT_EQ(judge(uncommitted), HealthVerdict{});
  }
}

TEST(HealthRules, success_is_a_merit_for_who_is_known_to_be_there) {
  MessageEnd end{.sent = true, .local_nis = 1, .peer_nis = 1};
  EXPECT_EQ(judge(end), HealthVerdict{.local = kMerit});
  end.late = true;
  EXPECT_EQ(judge(end), HealthVerdict{.local = kMerit});

  end = {.received = true, .local_nis = 1, .peer_nis = 1};
  EXPECT_EQ(judge(end),
            (HealthVerdict{
                .local = kMerit, .peer = kMerit, .reset_ping_counts = true, .recover_peer = true}));
  const HealthVerdict full{.local = kMerit, .peer = kFull, .reset_ping_counts = true};
  end.peer_is_router = true;
  EXPECT_EQ(judge(end), full);
  end.peer_is_router = false;
  end.node_routes = true;
  EXPECT_EQ(judge(end), full);
  end.sent = true;  // forwarded
  EXPECT_EQ(judge(end), full);

  end.failed = true;
  EXPECT_EQ(judge(end), HealthVerdict{});
}

TEST(HealthRules, with_a_single_interface_there_is_nowhere_to_resend_from) {
  auto end = failed(Health::kLocalDropped);
  end.local_nis = 1;
  EXPECT_EQ(judge(end), HealthVerdict{.local = kDemerit});
  end = failed(Health::kRemoteDropped);
  end.local_nis = 1;
  EXPECT_TRUE(judge(end).resend);
}

TEST(HealthRules, a_peer_with_a_single_interface_is_not_blamed_unless_routes_depend_on_it) {
  for (const Health health : {Health::kRemoteDropped, Health::kRemoteError, Health::kRemoteTimeout,
                              Health::kNetworkTimeout}) {
    auto end = failed(health);
    end.peer_nis = 1;
    auto verdict = judge(end);
    EXPECT_EQ(verdict.peer, kNone);
    EXPECT_FALSE(verdict.recover_peer);
    EXPECT_FALSE(verdict.resend);
    end.peer_is_router = true;
    EXPECT_EQ(judge(end).peer, kDemerit);
    EXPECT_FALSE(judge(end).resend);
    end.peer_is_router = false;
    end.node_routes = true;
    EXPECT_EQ(judge(end).peer, kDemerit);
    end.peer_ni_is_ours = true;
    EXPECT_EQ(judge(end).peer, kNone);
  }
}

TEST(HealthRules, only_what_was_sent_is_resent_and_only_so_often) {
  auto end = failed(Health::kRemoteDropped);
  end.retries = 1;
  EXPECT_TRUE(judge(end).resend);
  end.retries = 2;
  EXPECT_FALSE(judge(end).resend);
  EXPECT_TRUE(judge(end).retries_exhausted);
  end.retries_max = 0;
  EXPECT_FALSE(judge(end).retries_exhausted);

  end = failed(Health::kRemoteDropped);
  end.sent = false;
  end.received = true;
  EXPECT_FALSE(judge(end).resend);
  end.sent = true;  // forwarded: it may
  EXPECT_TRUE(judge(end).resend);
  end.recovery = true;
  EXPECT_FALSE(judge(end).resend);
  end.recovery = false;
  end.no_resend = true;
  EXPECT_FALSE(judge(end).resend);
  EXPECT_EQ(judge(end).peer, kDemerit);
}

// In contrast to the kernel: pinged peers are often silent, and many at a time.
TEST(HealthRules, a_recovery_ping_in_vain_costs_the_peer_alone) {
  MessageEnd end = failed(Health::kNetworkTimeout);
  EXPECT_EQ(judge(end).local, kDemerit);
  end.recovery = true;
  EXPECT_EQ(judge(end).local, kNone);
  EXPECT_EQ(judge(end).peer, kDemerit);
  end.health = Health::kLocalError;
  EXPECT_EQ(judge(end).local, kDemerit) << "which is ours alone";
}

// In contrast to the kernel: a few silent peers do not lower the health of a working NI.
TEST(HealthRules, a_network_timeout_costs_an_ni_on_which_others_are_heard_nothing) {
  MessageEnd end = failed(Health::kNetworkTimeout);
  end.ni_works = true;
  EXPECT_EQ(judge(end).local, kNone);
  EXPECT_EQ(judge(end).peer, kDemerit);
  end.health = Health::kLocalTimeout;
  EXPECT_EQ(judge(end).local, kDemerit);
}

// Failures that the kernel does not resend are not resent here, even if the message was not sent.
TEST(HealthRules, own_messages_are_sent_again_by_their_class_alone) {
  MessageEnd end = failed(Health::kRemoteError);
  end.unsent = true;
  EXPECT_FALSE(judge(end).resend);
}

TEST(HealthRules, forwarded_messages_are_sent_again_only_if_unsent) {
  for (const Health health :
       {Health::kRemoteDropped, Health::kRemoteError, Health::kLocalDropped}) {
    MessageEnd end = failed(health);
    end.forwarded = true;
    EXPECT_FALSE(judge(end).resend);
    end.unsent = true;
    EXPECT_TRUE(judge(end).resend);
    end.peer_nis = end.local_nis = 1;
    EXPECT_TRUE(judge(end).resend) << "by another gateway";
    end.no_resend = true;
    EXPECT_FALSE(judge(end).resend);
  }
}

TEST(HealthRules, a_message_without_a_path_blames_the_other_side_only_if_nothing_leads_there) {
  EXPECT_EQ(health_of_no_path(Errc::kNoRoute), Health::kRemoteError);
  EXPECT_EQ(health_of_no_path(Errc::kInvalid), Health::kLocalError);
  EXPECT_EQ(health_of_no_path(Errc::kNetworkDown), Health::kLocalError);
}

TEST(HealthRules, deadlines_leave_room_for_all_retries) {
  using std::chrono::seconds;
  Parameters parameters;
  const Instant now{seconds(1000)};
  EXPECT_EQ(message_deadline(now, seconds(50), parameters), now + seconds(151));
  EXPECT_EQ(message_deadline(now, {}, parameters), now + seconds(150));
  parameters.retry_count.set(0);
  EXPECT_EQ(message_deadline(now, seconds(50), parameters), now + seconds(51));
  parameters.transaction_timeout_s.set(10);
  EXPECT_EQ(message_deadline(now, {}, parameters), now + seconds(10));
  EXPECT_EQ(message_deadline(now, seconds(-1), parameters), now + seconds(10));
}

}  // namespace
}  // namespace plnet::lnet::health_rules_test

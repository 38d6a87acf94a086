// SPDX-License-Identifier: BSD-3-Clause
// Random operations on a match table, compared with the slow model step by step.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/lib/lnet/match/fixture.hpp"
#include "tests/unit/lib/lnet/match/slow_model.hpp"

namespace plnet::lnet::property_test {
namespace {

constexpr std::size_t kMds = 64;  // as in the fixture's table
constexpr PortalId kPortals = 3;
constexpr int kSteps = 4000;

// Addresses 1 and 2 are one peer, 3 and 4 another.
bool same_peer(const Nid& entry, const Nid& source) {
  return (entry.address32() - 1) / 2 == (source.address32() - 1) / 2;
}

class PairedPeers final : public PeerIdentity {
 public:
  [[nodiscard]] bool same_peer(const Nid& entry, const Nid& source) const override {
    return property_test::same_peer(entry, source);
  }
};

struct UnderWay {
  Grant grant;
  ModelGrant model;
  bool quarantined = false;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one at a time
class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed) {}

  void run() {
    for (int step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "step " << step);
      one_step();
      compare();
    }
    while (!under_way_.empty())
      end_one();
    compare();
    for (int number = 0; number < model_.made(); ++number) {
      EXPECT_EQ(model_.unlink_md(number), table_.unlink(handles_[index(number)].md).has_value());
      EXPECT_EQ(model_.unlink_me(number), unlink_me(number));
    }
    compare();
    EXPECT_EQ(model_.in_use(), 0U);
  }

 private:
  static int number_of(const Event& event) { return *static_cast<const int*>(event.user); }
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_.below(n)); }

  void one_step() {
    switch (below(16)) {
      case 0:
      case 1: return attach();
      case 2:
      case 3: return bind();
      case 4: return unlink();
      case 5: return one_in(4) ? pass_time() : start();
      case 6:
      case 7: return start();
      case 8: return respond();
      case 9:
      case 10:
      case 11: return match();
      default:
        if (!under_way_.empty()) end_one();
    }
  }

  MdSpec random_md(std::uint32_t options) {
    MdSpec spec{.fragments = memory_, .length = below(200), .handler = &recorder_};
    spec.options = options;
    if (one_in(3)) spec.options |= kMdTruncate;
    if (one_in(4)) spec.options |= kMdNoTrackResponse;
    spec.threshold = one_in(3) ? kThresholdInfinite : static_cast<std::int32_t>(below(4));
    spec.unlink_when_exhausted = !one_in(4);
    spec.user = &names_.emplace_back(model_.made());
    return spec;
  }

  void attach() {
    MdSpec md = random_md(std::uint32_t{kMdPut} + below(3));
    if (one_in(3)) md.options |= kMdManageRemote;
    if (one_in(3) && md.length > 0) {
      md.options |= kMdMaxSize;
      md.max_size = 1 + below(md.length);
    }
    MeSpec me{.portal = below(kPortals), .match_bits = below(4)};
    // Portal 0 is mostly unique, the others are mostly wildcard portals.
    const bool unique = (me.portal == 0) != one_in(8);
    if (unique || one_in(3)) me.match.nid = nid_of(1 + below(6));
    if (unique || one_in(3)) me.match.pid = below(2);
    if (!unique && one_in(2)) me.ignore_bits = below(4);
    if (one_in(3)) me.position = MePosition::kBefore;
    if (one_in(5)) me.unlink_with_md = false;
    if (table_.counters().get(MatchCounters::Id::kMesInUse) == kMds) return unlink();
    const auto expected = model_.attach(me, md);
    const auto real = table_.attach(me, md);
    ASSERT_EQ(expected.has_value(), real.has_value());
    if (!expected) {
      EXPECT_EQ(expected.error(), real.error());
    } else {
      handles_.push_back(*real);
    }
  }

  void bind() {
    const MdSpec md = random_md(0);
    const auto expected = model_.bind(md);
    const auto real = table_.bind(md);
    ASSERT_EQ(expected.has_value(), real.has_value());
    if (expected) handles_.push_back({.me = {}, .md = *real});
  }

  // Mostly a recent one, so that it often still exists.
  int any_md() {
    const auto made = static_cast<std::uint64_t>(model_.made());
    return static_cast<int>(made - 1 - random_.below(std::min<std::uint64_t>(made, 40)));
  }
  bool unlink_me(int number) { return table_.unlink(handles_[index(number)].me).has_value(); }

  void unlink() {
    if (model_.made() == 0) return;
    const int number = one_in(2) ? any_md() : static_cast<int>(below(handles_.size()));
    if (one_in(3)) {
      EXPECT_EQ(model_.unlink_me(number), unlink_me(number));
    } else {
      EXPECT_EQ(model_.unlink_md(number), table_.unlink(handles_[index(number)].md).has_value());
    }
  }

  void start() {
    if (model_.made() == 0) return;
    const int number = any_md();
    const MessageType type = one_in(2) ? MessageType::kPut : MessageType::kGet;
    const bool ack = one_in(2);
    const std::int64_t deadline = now_ms_ + 1 + below(50);
    const auto expected = model_.start(number, type, ack, deadline);
    const auto real =
        table_.start(handles_[index(number)].md,
                     {.type = type,
                      .ack = ack,
                      .response_deadline = Instant(std::chrono::milliseconds(deadline))});
    ASSERT_EQ(expected.has_value(), real.has_value());
    if (expected) took(*real, *expected);
  }

  void respond() {
    if (model_.made() == 0) return;
    const int number = any_md();
    const MessageType type = one_in(2) ? MessageType::kAck : MessageType::kReply;
    const std::uint32_t payload = type == MessageType::kReply ? below(250) : 0;
    const ModelAnswer expected = model_.respond(number, type, payload);
    const MatchResult real =
        table_.respond({type, table_.wire_handle(handles_[index(number)].md), payload});
    answered(real, expected);
  }

  void match() {
    const std::uint32_t address = 1 + below(6);
    const MatchRequest request{
        .type = one_in(2) ? MessageType::kPut : MessageType::kGet,
        .portal = below(kPortals),
        .match_bits = below(4),
        .requested_length = below(120),
        .offset = one_in(20) ? 0xffffff00 + below(256) : below(150),
        .sender = {nid_of((address - 1) / 2 * 2 + 1), below(2)},  // odd ones are primary
        .source = nid_of(address),
    };
    answered(table_.match(request), model_.match(request, same_peer));
  }

  void answered(const MatchResult& real, const ModelAnswer& expected) {
    ASSERT_EQ(real.verdict, expected.verdict);
    if (real.matched()) took(real.grant, expected.grant);
  }

  void took(const Grant& real, const ModelGrant& expected) {
    EXPECT_EQ(real.md, handles_[index(expected.md)].md);
    EXPECT_EQ(real.kind, expected.kind);
    EXPECT_EQ(real.offset, expected.offset);
    EXPECT_EQ(real.accepted_length, expected.length);
    EXPECT_EQ(real.window.length, expected.length);
    if (expected.length != 0) {
      EXPECT_EQ(real.window.offset, expected.offset);
    }
    under_way_.push_back({real, expected});
  }

  void end_one() {
    const std::size_t which = random_.below(under_way_.size());
    const UnderWay ended = under_way_[which];
    if (ended.quarantined) {
      model_.end_quarantine(ended.model);
      table_.end_quarantine(ended.grant);
    } else if (one_in(8) && ended.grant.kind == EventKind::kSend) {
      model_.quarantine(ended.model, Errc::kIo);
      table_.quarantine(ended.grant, SentMessage{header_, target_}, Errc::kIo);
      under_way_[which].quarantined = true;
      return;
    } else {
      finish(ended);
    }
    under_way_[which] = under_way_.back();
    under_way_.pop_back();
  }

  void finish(const UnderWay& ended) {
    std::optional<Errc> error;
    Result<void> status;
    if (one_in(4)) {
      error = Errc::kReset;
      status = std::unexpected(Errc::kReset);
    }
    const auto expected = model_.finish(ended.model, error);
    const auto real =
        ended.grant.kind == EventKind::kSend
            ? table_.finish(ended.grant, SentMessage{header_, target_}, status)
            : table_.finish(ended.grant, ReceivedMessage{header_, header_.source, header_.source},
                            status);
    EXPECT_EQ(real.has_value(), !expected.has_value());
    if (!real && expected) {
      EXPECT_EQ(real.error(), *expected);
    }
  }

  void pass_time() {
    now_ms_ += below(60);
    std::vector<int> expected = model_.pass_time(now_ms_);
    while (timers_.advance(Instant(std::chrono::milliseconds(now_ms_))) != 0) {
    }
    // The table orders them by deadline, the model by number.
    ASSERT_EQ(hooks_.timeouts.size(), expected.size());
    for (const ResponseTimeout& timeout : hooks_.timeouts) {
      EXPECT_TRUE(std::ranges::any_of(
          expected, [&](int number) { return handles_[index(number)].md == timeout.md; }));
    }
    hooks_.timeouts.clear();
    std::ranges::sort(recorder_.events, {}, number_of);
  }

  void compare() {
    std::vector<ModelEvent> real;
    for (const Event& event : recorder_.events) {
      const int number = number_of(event);
      EXPECT_EQ(event.md, handles_[index(number)].md);
      real.push_back({number, event.kind, event.unlinked, std::nullopt});
      if (!event.status) real.back().error = event.status.error();
    }
    EXPECT_EQ(real, model_.events);
    recorder_.events.clear();
    model_.events.clear();
    EXPECT_EQ(table_.counters().get(MatchCounters::Id::kMdsInUse), model_.in_use());
    for (PortalId portal = 0; portal < kPortals; ++portal)
      EXPECT_EQ(portals_.entries(portal, 0), model_.attached(portal));
  }

  Random random_;
  std::array<Fragment, 1> memory_{Fragment{{0, 0}, kMemoryBytes}};
  MatchRecorder recorder_;
  PairedPeers peers_;
  RecordedHooks hooks_;
  PortalDirectory portals_{1};
  TimerWheel timers_{Instant{}, std::chrono::milliseconds(1)};
  std::int64_t now_ms_ = 0;
  MessageHeader header_{.type = MessageType::kPut};
  ProcessId target_{nid_of(9), kLustrePid};
  SlowModel model_{kMds};
  std::deque<int> names_;  // identify MDs in their events
  std::vector<Attached> handles_;
  std::vector<UnderWay> under_way_;
  MatchTable table_{{.interface_cookie = kTestCookie, .descriptors = kMds, .entries = kMds},
                    portals_,
                    timers_,
                    peers_,
                    hooks_};
};

class MatchProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(MatchProperty, TableAndSlowModelAgree) {
  Life(GetParam()).run();
}

INSTANTIATE_TEST_SUITE_P(Seeds, MatchProperty, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace plnet::lnet::property_test

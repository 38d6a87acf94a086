// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/health_rules.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "lib/base/check.hpp"

namespace plnet::lnet {
namespace {

enum class Blame : std::uint8_t { kNobody, kLocal, kPeer, kBoth };
struct Rule {
  Health health;
  Blame blame;
  bool resend;
};

constexpr std::array<Rule, kHealthCount> kRules = {{
    {Health::kOk, Blame::kNobody, false},
    {Health::kLocalInterrupt, Blame::kLocal, true},
    {Health::kLocalDropped, Blame::kLocal, true},
    {Health::kLocalAborted, Blame::kLocal, true},
    {Health::kLocalNoRoute, Blame::kLocal, true},
    {Health::kLocalError, Blame::kLocal, false},
    {Health::kLocalTimeout, Blame::kLocal, true},
    {Health::kRemoteError, Blame::kPeer, false},
    {Health::kRemoteDropped, Blame::kPeer, true},
    {Health::kRemoteTimeout, Blame::kPeer, false},
    {Health::kNetworkTimeout, Blame::kBoth, false},
}};

consteval bool rules_in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].health) != i) return false;
  }
  return true;
}
static_assert(rules_in_order());

HealthVerdict judge_success(const MessageEnd& end) {
  HealthVerdict verdict{.local = HealthChange::kMerit};
  // A sent message does not prove that the peer has received it.
  if (!end.received) return verdict;
  verdict.reset_ping_counts = true;
  if (end.peer_is_router || end.node_routes) {
    verdict.peer = HealthChange::kFull;
  } else {
    verdict.peer = HealthChange::kMerit;
    verdict.recover_peer = true;
  }
  return verdict;
}

bool may_resend(const MessageEnd& end, Blame blame) {
  PLNET_CHECK(blame != Blame::kNobody, "a failure has a cause");
  if (!end.sent || end.recovery || end.no_resend) return false;
  if (end.forwarded) return true;
  // With one interface the next attempt would fail in the same way.
  return blame == Blame::kLocal ? end.local_nis > 1 : end.peer_nis > 1;
}

}  // namespace

HealthVerdict judge(const MessageEnd& end) {
  PLNET_CHECK(!end.recovery || end.retries == 0, "a recovery ping is sent once");
  const bool agrees = end.failed == (end.health != Health::kOk);
  // lustre-release needs a peer NI for each direction: loopback changes no health.
  if (!agrees || end.loopback || !(end.sent || end.received)) return {};
  if (end.health == Health::kOk) return judge_success(end);
  if (end.late) return {};

  const auto index = static_cast<std::size_t>(end.health);
  PLNET_CHECK(index < kRules.size(), "a class of health that there is");
  const Rule& rule = kRules[index];
  HealthVerdict verdict;
  // The kernel blames both. But a peer that was silent before does not prove a fault of our NI, nor
  // does one that is silent while other peers answer: else a few silent peers would take the NI
  // down.
  const bool both = rule.blame == Blame::kBoth;
  const bool ours = rule.blame == Blame::kLocal || (both && !end.recovery && !end.ni_works);
  if (ours) verdict.local = HealthChange::kDemerit;
  const bool peer_matters = end.peer_nis > 1 || end.peer_is_router || end.node_routes;
  if (rule.blame != Blame::kLocal && peer_matters && !end.peer_ni_is_ours) {
    verdict.peer = HealthChange::kDemerit;
    verdict.recover_peer = true;
  }
  const bool is_worth_it = end.forwarded ? end.unsent : rule.resend;
  if (is_worth_it && may_resend(end, rule.blame)) {
    verdict.resend = end.retries < end.retries_max;
    verdict.retries_exhausted = !verdict.resend && end.retries_max != 0;
    PLNET_CHECK(end.failed && end.sent, "only a failed message is sent again");
  }
  return verdict;
}

bool needs_recovery(const PeerNi& ni, bool rivals, const Parameters& parameters) {
  PLNET_DEBUG_CHECK(parameters.health_sensitivity.get() >= 0, "a step of health has a size");
  const bool decides = rivals && parameters.health_sensitivity.get() > 0;
  const bool is_direct = ni.tx_credits_max.get() > 0;
  return decides && is_direct && ni.health.get() != kHealthMax &&
         ni.last_alive_ns.get() != INT64_MIN;
}

Health health_of_no_path(Errc code) {
  return code == Errc::kNoRoute ? Health::kRemoteError : Health::kLocalError;
}

Instant message_deadline(Instant now, Duration lnd_timeout, const Parameters& parameters) {
  const auto whole_seconds = std::chrono::floor<std::chrono::seconds>(lnd_timeout);
  if (whole_seconds.count() <= 0) return now + parameters.transaction_timeout();
  return now + whole_seconds * (parameters.retry_count.get() + 1) + std::chrono::seconds(1);
}

}  // namespace plnet::lnet

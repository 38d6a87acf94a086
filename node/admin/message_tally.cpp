// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/message_tally.hpp"

#include <algorithm>

namespace plnet::node {

using lnet::ReceiveState;
using lnet::SendState;
using lnet::StandingMessage;
using lnet::Wait;
using lnet::WaitMark;

namespace {

// True: the record has the time at which the state began.
bool has_begin(ReceiveState state) {
  return state == ReceiveState::kMessageWait ||
         (state >= ReceiveState::kSenderWait && state <= ReceiveState::kBufferWait);
}
bool has_begin(SendState state) {
  return state == SendState::kTargetWait || state == SendState::kDiscoveryWait ||
         state == SendState::kHopCreditWait || state == SendState::kNiCreditWait ||
         state == SendState::kRuleWait || state == SendState::kWithLnd ||
         state == SendState::kQuarantine;
}

}  // namespace

void MessageTally::add_waits(const CounterView& counters) {
  for (std::size_t i = 0; i < report_.waits.size(); ++i) {
    lnet::WaitReport& wait = report_.waits[i];
    const auto value = [&](WaitMark mark) {
      return counters.value(static_cast<std::size_t>(counter_of(static_cast<Wait>(i), mark)));
    };
    wait.waiting += value(WaitMark::kWaiting);
    wait.waited += value(WaitMark::kWaited);
    wait.time_us += value(WaitMark::kTime);
    wait.longest_us = std::max(wait.longest_us, value(WaitMark::kLongest));
  }
}

void MessageTally::keep(const StandingMessage& standing) {
  auto& longest = report_.longest;
  const auto younger = std::ranges::find_if(
      longest, [&](const StandingMessage& each) { return each.age < standing.age; });
  longest.insert(younger, standing);
  if (longest.size() > lnet::MessagesReport::kLongestMax) longest.pop_back();
}

void MessageTally::add(const lnet::ShardCore& core, const lnet::Receive& receive) {
  const ReceiveState state = receive.state.get();
  ++report_.arriving[static_cast<std::size_t>(state)];
  if (!has_begin(state)) return;
  const lnet::PeerNi* const hop = receive.forwarded ? receive.forwarding.next_hop : nullptr;
  keep({.source = receive.header.source,
        .destination = receive.header.destination,
        .type = receive.header.type,
        .bytes = receive.header.payload_length,
        .state = name_of(state),
        .age = core.now - receive.waits_since,
        .hop = hop == nullptr || state != ReceiveState::kBufferWait ? lnet::kNoNid : hop->nid,
        .shard = core.id});
}

// Another shard may have the message: only fields that are atomic or constant then are read.
void MessageTally::add(const lnet::ShardCore& core, const lnet::Message& message) {
  const SendState state = message.state.get();
  ++report_.leaving[static_cast<std::size_t>(state)];
  if (!has_begin(state)) return;
  const bool is_forwarded = message.answers != nullptr && message.answers->forwarded;
  // The header has no source before a path is chosen, and a message in quarantine keeps no hop.
  const bool has_source = is_forwarded || message.ni != nullptr;
  const bool has_hop = message.hop != nullptr && state != SendState::kQuarantine;
  keep({.source = has_source ? message.header.source : lnet::kNoNid,
        .destination = is_forwarded ? message.header.destination : message.target.nid,
        .type = message.header.type,
        .bytes = message.header.payload_length,
        .state = name_of(state),
        .age = core.now - message.since.get(),
        .hop = has_hop ? message.hop->nid : lnet::kNoNid,
        .shard = core.id});
}

// Both kinds of records are counted as one list: arriving messages first.
bool MessageTally::count(lnet::Node& node, unsigned shard) {
  const lnet::ShardCore& core = node.shard(shard).core();
  if (next_ == 0) add_waits(core.waits.counters());
  const auto arriving = static_cast<std::uint32_t>(core.receives.capacity());
  const auto all = arriving + static_cast<std::uint32_t>(core.messages.capacity());
  const std::uint32_t end = std::min(next_ + kRecordsAtOnce, all);
  for (; next_ < end; ++next_) {
    if (next_ < arriving) {
      if (core.receives.is_lent(next_)) add(core, core.receives.at(next_));
    } else if (core.messages.is_lent(next_ - arriving)) {
      add(core, core.messages.at(next_ - arriving));
    }
  }
  if (next_ < all) return true;
  next_ = 0;
  return false;
}

}  // namespace plnet::node

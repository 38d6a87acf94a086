// SPDX-License-Identifier: BSD-3-Clause
// A match table with an event recorder, and short helpers for incoming messages.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/match/match_table.hpp"

namespace plnet::lnet {

inline constexpr std::uint64_t kTestCookie = 0x1122334455667788;
inline constexpr std::uint32_t kMemoryBytes = 4U << 20;

[[nodiscard]] inline Nid nid_of(std::uint32_t address) {
  return Nid::of(NetType::kTcp, 0, address);
}

class MatchRecorder final : public EventHandler {
 public:
  void on_event(const Event& event) override {
    events.push_back(event);
    if (also) also(event);
  }

  std::vector<Event> events;
  std::function<void(const Event&)> also;
};

class KnownPeers final : public PeerIdentity {
 public:
  [[nodiscard]] bool same_peer(const Nid& entry, const Nid& source) const override {
    ++asked;
    for (const auto& [one, other] : pairs) {
      if ((one == entry && other == source) || (one == source && other == entry)) return true;
    }
    return false;
  }

  std::vector<std::pair<Nid, Nid>> pairs;
  mutable unsigned asked = 0;
};

class RecordedHooks final : public MatchHooks {
 public:
  void on_lazy_attach(PortalId portal) override { lazy.push_back(portal); }
  void on_response_timeout(const ResponseTimeout& timeout) override { timeouts.push_back(timeout); }

  void on_given_up(const Nid& beyond) override { given_up.push_back(beyond); }

  std::vector<PortalId> lazy;
  std::vector<Nid> given_up;
  std::vector<ResponseTimeout> timeouts;
};

class MatchTest : public testing::Test {
 public:
  static constexpr ShardId kShard = 2;

  [[nodiscard]] MdSpec md(std::uint32_t options, std::uint32_t length = 4096) {
    return {.fragments = memory, .length = length, .options = options, .handler = &recorder};
  }
  // An ME that matches every sender with these bits.
  [[nodiscard]] static MeSpec me(std::uint64_t match_bits = 0, std::uint64_t ignore_bits = 0) {
    return {.portal = 4, .match_bits = match_bits, .ignore_bits = ignore_bits};
  }
  [[nodiscard]] MdHandle attach(const MeSpec& me_spec, const MdSpec& md_spec) {
    return attach_both(me_spec, md_spec).md;
  }
  [[nodiscard]] Attached attach_both(const MeSpec& me_spec, const MdSpec& md_spec) {
    const auto attached = table.attach(me_spec, md_spec);
    EXPECT_TRUE(attached.has_value());
    return attached.value_or(Attached{});
  }
  [[nodiscard]] MdHandle bind(const MdSpec& spec) {
    const auto bound = table.bind(spec);
    EXPECT_TRUE(bound.has_value());
    return bound.value_or(MdHandle{});
  }

  [[nodiscard]] static MatchRequest put(std::uint32_t length, std::uint64_t match_bits = 0) {
    return {.type = MessageType::kPut,
            .portal = 4,
            .match_bits = match_bits,
            .requested_length = length,
            .sender = {nid_of(1), kLustrePid},
            .source = nid_of(1)};
  }
  [[nodiscard]] static MatchRequest get(std::uint32_t length, std::uint64_t match_bits = 0) {
    MatchRequest request = put(length, match_bits);
    request.type = MessageType::kGet;
    return request;
  }

  // Most tests do not need the message of a grant.
  void finish(const Grant& grant, Result<void> status = {}) { (void)outcome_of(grant, status); }
  Result<void> outcome_of(const Grant& grant, Result<void> status = {}) {
    if (grant.kind == EventKind::kSend) {
      header.type = MessageType::kPut;
      return table.finish(grant, SentMessage{header, target}, status);
    }
    return table.finish(grant, ReceivedMessage{header, header.source, header.source}, status);
  }
  void quarantine(const Grant& grant, Errc cause) {
    header.type = MessageType::kPut;
    table.quarantine(grant, SentMessage{header, target}, cause);
  }
  [[nodiscard]] Result<Grant> start(const MdHandle& handle, MessageType type,
                                    Instant deadline = Instant::max()) {
    return table.start(handle, {.type = type, .ack = true, .response_deadline = deadline});
  }
  [[nodiscard]] MatchResult respond(const MdHandle& handle, MessageType type,
                                    std::uint32_t length = 0) {
    return table.respond(
        {.type = type, .handle = table.wire_handle(handle), .payload_length = length});
  }
  void pass_time(Instant until) {
    while (timers.advance(until) != 0) {
    }
  }
  [[nodiscard]] std::uint64_t count(MatchCounters::Id id) const { return table.counters().get(id); }
  [[nodiscard]] std::vector<Event>& events() { return recorder.events; }

  std::array<Fragment, 1> memory{Fragment{{0, 0}, kMemoryBytes}};
  MatchRecorder recorder;
  KnownPeers peers;
  RecordedHooks hooks;
  PortalDirectory portals{4};
  TimerWheel timers{Instant{}, std::chrono::milliseconds(1)};
  MessageHeader header;
  ProcessId target{nid_of(9), kLustrePid};
  MatchTable table{
      {.shard = kShard, .interface_cookie = kTestCookie, .descriptors = 64, .entries = 64},
      portals,
      timers,
      peers,
      hooks};
};

}  // namespace plnet::lnet

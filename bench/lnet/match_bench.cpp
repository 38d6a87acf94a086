// SPDX-License-Identifier: BSD-3-Clause
// The cost of matching on the shard that owns the memory: no network, no crossing of shards.
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "bench/harness/harness.hpp"
#include "lib/lnet/match/match_table.hpp"

namespace plnet::bench {
namespace {

using namespace plnet::lnet;

constexpr std::uint64_t kCookie = 0x1234;
constexpr Duration kResponseTime = std::chrono::seconds(150);

class Listener final : public EventHandler {
 public:
  void on_event(const Event& event) override {
    ++events;
    bytes += event.accepted_length;
  }
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
};

class Strangers final : public PeerIdentity {
 public:
  [[nodiscard]] bool same_peer(const Nid&, const Nid&) const override { return false; }
};

class NoHooks final : public MatchHooks {
 public:
  void on_lazy_attach(PortalId) override {}
  void on_response_timeout(const ResponseTimeout&) override {}
  void on_given_up(const Nid&) override {}
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): there is one
struct Site {
  explicit Site(std::size_t descriptors = 4096)
      : table({.interface_cookie = kCookie, .descriptors = descriptors, .entries = descriptors},
              portals, timers, peers, hooks) {
    header.type = MessageType::kPut;
    header.payload_length = 4096;
    header.source = nid;
    header.set_area(PutArea{.match_bits = 7, .portal = 4});
  }
  [[nodiscard]] MdSpec md(std::uint32_t options) {
    return {.fragments = memory, .length = 1U << 20, .options = options, .handler = &listener};
  }
  [[nodiscard]] MatchRequest put(std::uint64_t match_bits) const {
    return {.portal = 4,
            .match_bits = match_bits,
            .requested_length = 4096,
            .sender = {nid, kLustrePid},
            .source = nid};
  }

  std::array<Fragment, 1> memory{Fragment{{0, 0}, 1U << 20}};
  Nid nid = Nid::of(NetType::kTcp, 0, 1);
  ProcessId target{nid, kLustrePid};
  MessageHeader header;
  Listener listener;
  Strangers peers;
  NoHooks hooks;
  PortalDirectory portals{1};
  TimerWheel timers{Instant{}, std::chrono::milliseconds(10)};
  MatchTable table;
};

// Request buffers of a service: every message to the portal uses the first one.
void put_into_wildcard(benchmark::State& state) {
  Site site;
  const MeSpec any{.portal = 4, .ignore_bits = ~0ULL};
  for (int i = 0; i < 8; ++i) {
    if (!site.table.attach(any, site.md(kMdPut | kMdManageRemote)))
      return state.SkipWithError("an ME is refused");
  }
  const MatchRequest request = site.put(7);
  for ([[maybe_unused]] auto _ : state) {
    const MatchResult result = site.table.match(request);
    if (!result.matched()) return state.SkipWithError("a PUT finds no MD");
    (void)site.table.finish(result.grant, ReceivedMessage{site.header, site.nid, site.nid}, {});
  }
  benchmark::DoNotOptimize(site.listener.bytes);
}

// Bulk transfers that wait for their data: thousands of unique entries, one of which matches.
void put_into_unique(benchmark::State& state) {
  constexpr std::uint64_t kEntries = 4096;
  Site site(kEntries);
  for (std::uint64_t bits = 0; bits < kEntries; ++bits) {
    if (!site.table.attach({.portal = 4, .match = site.target, .match_bits = bits},
                           site.md(kMdPut | kMdManageRemote)))
      return state.SkipWithError("an ME is refused");
  }
  std::uint64_t next = 0;
  for ([[maybe_unused]] auto _ : state) {
    next += 1237;
    const MatchResult result = site.table.match(site.put(next % kEntries));
    if (!result.matched()) return state.SkipWithError("a PUT finds no MD");
    (void)site.table.finish(result.grant, ReceivedMessage{site.header, site.nid, site.nid}, {});
  }
  benchmark::DoNotOptimize(site.listener.bytes);
}

// All steps of a bulk transfer at its target.
void attach_and_put(benchmark::State& state) {
  Site site;
  MdSpec once = site.md(kMdPut);
  once.threshold = 1;
  std::uint64_t bits = 0;
  for ([[maybe_unused]] auto _ : state) {
    ++bits;
    if (!site.table.attach({.portal = 4, .match = site.target, .match_bits = bits}, once))
      return state.SkipWithError("an ME is refused");
    const MatchResult result = site.table.match(site.put(bits));
    if (!result.matched()) return state.SkipWithError("a PUT finds no MD");
    (void)site.table.finish(result.grant, ReceivedMessage{site.header, site.nid, site.nid}, {});
  }
  benchmark::DoNotOptimize(site.listener.bytes);
}

// A PUT with ACK from its originator's side, response tracking included.
void bind_to_unlink(benchmark::State& state) {
  Site site;
  MdSpec twice = site.md(0);
  twice.threshold = 2;
  Instant now{};
  for ([[maybe_unused]] auto _ : state) {
    now += std::chrono::nanoseconds(100);
    const auto md = site.table.bind(twice);
    if (!md) return state.SkipWithError("an MD is refused");
    const auto send =
        site.table.start(*md, {.ack = true, .response_deadline = now + kResponseTime});
    if (!send) return state.SkipWithError("a PUT is refused");
    site.table.set_next_hop(*send, 1, site.nid, lnet::Nid::any());
    const WireHandle wire = site.table.wire_handle(*md);
    (void)site.table.finish(*send, SentMessage{site.header, site.target}, {});
    const MatchResult ack = site.table.respond({.type = MessageType::kAck, .handle = wire});
    if (!ack.matched()) return state.SkipWithError("an ACK finds no MD");
    (void)site.table.finish(ack.grant, ReceivedMessage{site.header, site.nid, site.nid}, {});
  }
  benchmark::DoNotOptimize(site.listener.bytes);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "lnet.match.put",
                   .what = "a PUT into the first of 8 wildcard MEs: match, event, finish",
                   .bar = Bar{.limit = 100},
                   .value = put_into_wildcard});
  suite.push_back({.name = "lnet.match.unique",
                   .what = "a PUT into one of 4096 unique MEs: match, event, finish",
                   .value = put_into_unique});
  suite.push_back({.name = "lnet.match.attach",
                   .what = "a unique ME for one PUT: attach, match, event, unlink",
                   .value = attach_and_put});
  suite.push_back({.name = "lnet.match.bind",
                   .what = "an MD for one PUT with ACK: bind, start, SEND, ACK, unlink; tracked",
                   .bar = Bar{.limit = 200},
                   .value = bind_to_unlink});
}

}  // namespace plnet::bench

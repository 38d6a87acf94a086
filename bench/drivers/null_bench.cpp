// SPDX-License-Identifier: BSD-3-Clause
// The cost of the null driver per message: the part of a core benchmark that does not belong to the
// core. The core here only receives zero bytes of every message.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/harness/harness.hpp"
#include "drivers/net/null/device.hpp"

namespace plnet::bench {
namespace {

class IdleCore final : public lnet::LndUpcalls {
 public:
  lnet::RxDecision on_header(const lnet::RxOffer&) override {
    ++headers;
    return {.verdict = lnet::RxVerdict::kReceive};
  }
  void on_received(lnet::RxHandle, Result<void>, Health) override {}
  void on_sent(std::span<const lnet::Completion> burst) override { sent += burst.size(); }
  void on_parked_gone(lnet::RxHandle, Errc) override {}
  void on_quarantine_over(lnet::Transmit&) override {}
  void on_lane(lnet::PeerLink&, lnet::LaneId, bool, bool) override {}
  void on_peer(const lnet::Nid&, lnet::PeerNotice, Instant) override {}
  void on_peer_released(lnet::PeerLink&) override {}
  void on_interface(lnet::InterfaceState, Errc) override {}

  std::uint64_t headers = 0;
  std::uint64_t sent = 0;
};

constexpr std::size_t kBurst = 32;
constexpr std::size_t kMessages = 512;  // in rotation, so that no single line is always hot
constexpr std::size_t kPeers = 64;

struct Messages {
  Messages() : links(kPeers), transmits(kMessages) {
    for (std::size_t i = 0; i < kPeers; ++i)
      links[i].nid = lnet::Nid::of(lnet::NetType::kTcp, 0, static_cast<std::uint32_t>(i + 2));
    for (std::size_t i = 0; i < kMessages; ++i) {
      lnet::Transmit& transmit = transmits[i];
      transmit.next_hop = &links[i % kPeers];
      transmit.header.type = lnet::MessageType::kPut;
      transmit.header.set_area(lnet::PutArea{.ack_handle = {1, i}});
      pointers.push_back(&transmit);
    }
  }
  std::vector<lnet::PeerLink> links;
  std::vector<lnet::Transmit> transmits;
  std::vector<lnet::Transmit*> pointers;
};

void run(benchmark::State& state, drivers::NullMode mode) {
  IdleCore core;
  Random random(1);
  drivers::NullLnd lnd({.mode = mode}, core, random);
  const Messages messages;
  std::size_t at = 0;
  while (state.KeepRunningBatch(kBurst)) {
    const std::span<lnet::Transmit* const> burst(messages.pointers.data() + at, kBurst);
    if (lnd.send(burst) != kBurst) state.SkipWithError("the null driver pushed back");
    benchmark::DoNotOptimize(lnd.flush(Instant{}));
    at = (at + kBurst) % kMessages;
  }
  if (mode == drivers::NullMode::kEcho && core.headers != core.sent) {
    state.SkipWithError("not every PUT was acknowledged");
  }
}

void source(benchmark::State& state) {
  IdleCore core;
  Random random(1);
  drivers::NullSourceConfig config{
      .first_peer = lnet::Nid::of(lnet::NetType::kTcp, 0, 2), .peers = kPeers, .burst = kBurst};
  config.header.type = lnet::MessageType::kPut;
  config.header.set_area(lnet::PutArea{});
  drivers::NullLnd lnd({.mode = drivers::NullMode::kSource, .source = config}, core, random);
  while (state.KeepRunningBatch(kBurst)) {
    benchmark::DoNotOptimize(lnd.flush(Instant{}));
  }
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "lnd.null.sink",
       .what = "a message through the null driver in sink mode, bursts of 32: send to on_sent",
       .value = [](benchmark::State& state) { run(state, drivers::NullMode::kSink); }});
  suite.push_back(
      {.name = "lnd.null.echo",
       .what = "a PUT through the null driver in echo mode with its ACK received, bursts of 32",
       .value = [](benchmark::State& state) { run(state, drivers::NullMode::kEcho); }});
  suite.push_back({.name = "lnd.null.source",
                   .what = "a message made up by the null driver and received, bursts of 32",
                   .value = source});
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// The cost of the Cassini driver: cycles of a sent and of a received message, with queues that are
// filled beforehand and a NIC without cost.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/drivers/cassini_stub.hpp"
#include "bench/harness/harness.hpp"
#include "drivers/net/cassini/endpoint.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {
namespace {

constexpr unsigned kBurst = 32;
constexpr std::size_t kMessageBytes = 128;  // LNet's header and kfilnd's

class Counter final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& completion : burst)
      (completion.status ? good : bad) += 1;
  }
  void on_link(bool, std::uint64_t) override {}
  std::uint64_t good = 0, bad = 0;
};

struct Site {
  Site() : memory(1U << 20U) {
    (void)arenas.add({.base = memory.data(), .size = memory.size()}).value();
    device = cassini::Device::open(stub, {.pid = 1}, arenas).value();
    cassini::EndpointConfig config;
    config.link_period = std::chrono::hours(1);
    endpoint = cassini::Endpoint::create(*device, config, counter).value();
    turn();
    stub.receive.put(cassini::StateChangeEvent{.ptlte_state = 2}, cassini::EventType::kStateChange);
    turn();
    (void)endpoint->post_multi_receive({{0, 0}, 1U << 20U}, 1);
    turn();
    peer = {endpoint->resolve(2, 1).value(), 0};
  }
  void turn() {
    now += std::chrono::microseconds(1);
    (void)endpoint->poll(now);
    stub.send.set_read(std::max(stub.send.rung(), 4U));
    stub.target.set_read(std::max(stub.target.rung(), 4U));
  }

  std::vector<std::byte> memory;
  ArenaTable arenas;
  CassiniStub stub;
  Counter counter;
  std::unique_ptr<cassini::Device> device;
  std::unique_ptr<cassini::Endpoint> endpoint;
  kfilnd::Target peer;
  Instant now{};
  runtime::TscClock clock;
};

// The turn that processes the contents of the queues, timed alone.
std::uint64_t timed_turn(Site& site) {
  site.now += std::chrono::microseconds(1);
  const std::uint64_t before = site.clock.cycles();
  (void)site.endpoint->poll(site.now);
  return site.clock.cycles() - before;
}

void send(benchmark::State& state) {
  Site site;
  const std::array<std::byte, kMessageBytes> header{};
  std::uint64_t cycles = 0;
  std::uint64_t messages = 0;
  std::size_t at = 32;  // position in the rung commands, in words
  while (state.KeepRunningBatch(kBurst)) {
    const std::uint64_t before = site.clock.cycles();
    for (unsigned i = 0; i < kBurst; ++i) {
      if (!site.endpoint->send(site.peer, header, {}, i)) state.SkipWithError("pushed back");
    }
    cycles += site.clock.cycles() - before;
    cycles += timed_turn(site);
    // The NIC: an ACK for each command.
    for (unsigned i = 0; i < kBurst; ++i) {
      const auto command =
          cassini::DmaCommand::decode(std::span(site.stub.send.words).subspan(at, 8));
      site.stub.transmit.put(
          cassini::InitiatorEvent{.user_ptr = command.user_ptr, .mlength = command.request_len},
          cassini::EventType::kAck);
      at += 8;
      if (at == site.stub.send.words.size() - 8) at = 32;
    }
    site.stub.send.set_read(site.stub.send.rung());
    cycles += timed_turn(site);
    messages += kBurst;
  }
  if (site.counter.good != messages || site.counter.bad != 0)
    state.SkipWithError("not every message was acknowledged");
  state.counters["value"] = static_cast<double>(cycles) / static_cast<double>(messages);
}

void receive(benchmark::State& state) {
  Site site;
  const auto entry =
      cassini::TargetCommand::decode(std::span(site.stub.target.words).subspan(40, 8));
  std::uint64_t cycles = 0;
  std::uint64_t messages = 0;
  while (state.KeepRunningBatch(kBurst)) {
    for (unsigned i = 0; i < kBurst; ++i) {
      site.stub.receive.put(
          cassini::TargetLongEvent{.match_bits = cassini::match_bits::kMessage,
                                   .buffer_id = entry.buffer_id,
                                   .mlength = kMessageBytes,
                                   .rlength = kMessageBytes,
                                   .start = entry.start + messages % 4096 * kMessageBytes},
          cassini::EventType::kPut);
      ++messages;
    }
    cycles += timed_turn(site);
  }
  if (site.counter.good != messages || site.counter.bad != 0)
    state.SkipWithError("not every message came up");
  state.counters["value"] = static_cast<double>(cycles) / static_cast<double>(messages);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "cassini.driver.send",
                   .what =
                       "cycles of a 128-byte message through the Cassini driver, its completion "
                       "included, bursts of 32, queues filled beforehand",
                   .unit = "cycles",
                   .value = send});
  suite.push_back({.name = "cassini.driver.receive",
                   .what = "cycles of a message received by the Cassini driver, event to upcall, "
                           "bursts of 32, queues filled beforehand",
                   .unit = "cycles",
                   .value = receive});
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// Messages and transfers of one core: lib/o2iblnd alone, over queue pairs at almost no cost. The
// core is initiator and target of each message.
#include <array>
#include <chrono>
#include <cstdint>

#include <time.h>

#include "bench/harness/harness.hpp"
#include "bench/o2iblnd/null_pair.hpp"

namespace plnet::bench {
namespace {

constexpr std::size_t kBurst = 32;
constexpr std::uint32_t kPayloadBytes = 64;

double cpu_seconds() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void rate(benchmark::State& state, lnet::MessageType type, std::uint32_t length,
          unsigned peer_credits) {
  NullO2ibPair pair(peer_credits);
  (void)pair.a.send(1, lnet::MessageType::kPut, 0);  // they meet
  pair.settle();
  const std::uint64_t before = pair.a.sent;
  const double start = cpu_seconds();
  while (state.KeepRunningBatch(kBurst)) {
    (void)pair.a.send(kBurst, type, length);
    (void)pair.turn();
  }
  const double spent = cpu_seconds() - start;
  const auto messages = static_cast<double>(pair.a.sent - before);
  pair.settle();
  if (pair.a.sent != pair.b.received || pair.a.failed + pair.b.failed != 0)
    state.SkipWithError("not every message was received and told as sent");
  state.counters["value"] = messages / spent;
  state.counters["ns_per_message"] = spent / messages * 1e9;
  state.counters["idle_with_credit"] =
      static_cast<double>(pair.a.lnd().count(o2iblnd::O2ibCounters::Id::kIdleWithCredit));
}

// One way to map payloads for the device, and its time.
struct Mapping {
  const char* name = "";
  MapRules rules;
  bool pins = false;
  unsigned rounds = 64;  // until the next way has its turn
  double seconds = 0;
  std::uint64_t messages = 0;
};

// All ways alternate, so that they meet the same machine.
void mapping(benchmark::State& state) {
  std::array<Mapping, 4> ways{{{.name = "ns_premapped", .rules = {}},
                               {.name = "ns_hit", .rules = {.arenas = true}},
                               {.name = "ns_miss", .rules = {.arenas = true, .keeps = false}},
                               {.name = "ns_miss_pinned",
                                .rules = {.arenas = true, .keeps = false},
                                .pins = true,
                                .rounds = 2}}};
  NullO2ibPair pair(128);
  (void)pair.a.send(1, lnet::MessageType::kPut, 0);
  pair.settle();
  std::uint64_t refused = 0;
  while (state.KeepRunningBatch(kBurst)) {
    for (Mapping& way : ways) {
      for (NullO2ibSide* const side : {&pair.a, &pair.b}) {
        side->driver().set_mapping(way.rules);
        side->driver().map_device().pin(way.pins);
      }
      const auto send = [&pair] {
        (void)pair.a.send(kBurst, lnet::MessageType::kPut, NullO2ibSide::kBulkBytes);
        pair.settle();
      };
      send();  // so that caches, the processor's too, do not contain data of the previous way
      const std::uint64_t before = pair.a.sent;
      const double start = cpu_seconds();
      for (unsigned i = 0; i < way.rounds; ++i)
        send();
      way.seconds += cpu_seconds() - start;
      way.messages += pair.a.sent - before;
      // Kept mappings are removed while their pinning is known.
      for (NullO2ibSide* const side : {&pair.a, &pair.b})
        side->driver().set_mapping({.arenas = true, .keeps = false});
    }
  }
  for (NullO2ibSide* const side : {&pair.a, &pair.b})
    refused += side->driver().mapping_counters().value(
        static_cast<std::size_t>(MapCounters::Id::kRefused));
  if (pair.a.sent != pair.b.received || pair.a.failed + pair.b.failed + refused != 0)
    state.SkipWithError("not every message was received and told as sent, or memory was refused");
  for (const Mapping& way : ways)
    state.counters[way.name] = way.seconds / static_cast<double>(way.messages) * 1e9;
  state.counters["value"] = state.counters["ns_hit"];
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "o2ib.null.rate",
       .what = "IMMEDIATE PUTs of 64 bytes a second on one core that is initiator and target of "
               "each, send to on_sent and header to on_received, bursts of 32, 128 credits",
       .unit = "/s",
       .bar = Bar{.limit = 4e6, .side = Bar::Side::kAtLeast},
       .value = [](benchmark::State& state) {
         rate(state, lnet::MessageType::kPut, kPayloadBytes, 128);
       }});
  suite.push_back({.name = "o2ib.null.bulk",
                   .what = "PUTs of 1 MiB a second by PUT_REQ, PUT_ACK and PUT_DONE, descriptors "
                           "only, on one core that is initiator and target of each",
                   .unit = "/s",
                   .bar = Bar{.limit = 1e6, .side = Bar::Side::kAtLeast},
                   .value = [](benchmark::State& state) {
                     rate(state, lnet::MessageType::kPut, NullO2ibSide::kBulkBytes, 128);
                   }});
  suite.push_back({.name = "o2ib.credits",
                   .what = "IMMEDIATE PUTs a second with 8 credits; the counter idle_with_credit "
                           "says how often one waited without need",
                   .unit = "/s",
                   .value = [](benchmark::State& state) {
                     rate(state, lnet::MessageType::kPut, kPayloadBytes, 8);
                   }});
  suite.push_back({.name = "o2ib.mapping",
                   .what = "CPU of a PUT of 1 MiB whose source and sink are in the cache of "
                           "mappings; beside it pre-mapped, mapped each time by a device that "
                           "costs nothing, and by one that pins the pages",
                   .unit = "ns",
                   .value = mapping});
}

}  // namespace plnet::bench

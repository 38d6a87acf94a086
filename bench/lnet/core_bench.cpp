// SPDX-License-Identifier: BSD-3-Clause
// The core on a network without cost: LNet's own cost per message. PUTs with ACK to peers drawn at
// random, counters on; a message is one PUT with all its consequences, including its ACK.
// doc/performance.md has the shares of its steps.
#include "bench/harness/harness.hpp"
#include "bench/lnet/putter.hpp"
#include "bench/lnet/two_cores.hpp"

namespace plnet::bench {
namespace {

void put_with_ack(benchmark::State& state, std::uint32_t peers) {
  Site site(1);
  put_with_ack(state, site, peers);
}

// Two shards on two CPUs; each puts to peers whose home is the other, so that every PUT goes there
// to be sent, its ACK arrives there, and both come back. The figure is for each of the two cores.
void put_across(benchmark::State& state) {
  Site site(2);
  site.add_peers(kPeers / 2, 0);
  site.add_peers(kPeers / 2, 1);
  Putter here(site, 0, kPeers / 2, kPeers / 2);
  Putter there(site, 1, 0, kPeers / 2);
  run_on_two_cores(state, here, there, 2 * kPeers);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "core.null.rate",
                   .what = "PUT with ACK through the core, 10 000 peers at random, one shard",
                   .unit = "msg/s",
                   .round_seconds = 0.2,
                   .bar = Bar{.limit = 5e6, .side = Bar::Side::kAtLeast},
                   .value = [](benchmark::State& state) { put_with_ack(state, kPeers); }});
  suite.push_back({.name = "core.null.hot",
                   .what = "the same to 16 peers: what is left when nothing misses the cache",
                   .unit = "msg/s",
                   .round_seconds = 0.2,
                   .value = [](benchmark::State& state) { put_with_ack(state, 16); }});
  suite.push_back({.name = "core.null.cross",
                   .what = "the same, every message by way of another shard on another CPU",
                   .unit = "msg/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = Bar{.limit = 2.5e6, .side = Bar::Side::kAtLeast},
                   .value = put_across});
}

}  // namespace plnet::bench

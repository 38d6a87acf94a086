// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/header_lookahead.hpp"

#include <algorithm>
#include <array>

#include "lib/base/check.hpp"
#include "lib/base/pipeline.hpp"
#include "lib/lnet/move/approach.hpp"

namespace plnet::lnet {

namespace {

constexpr std::size_t kAheadDistance = 4;
constexpr std::size_t kAheadSteps = 6;

void fetch_sender(const PeerLink* link, std::size_t step) {
  PLNET_DEBUG_CHECK(link != nullptr, "a message ahead names its link");
  if (step == 0) return prefetch(link);
  const PeerPort* const port = static_cast<const LndLink*>(link)->port;
  if (port == nullptr) return;
  if (step == 1) {
    port->prefetch();
    prefetch_to_write(&port->client);
  } else if (step == 2) {
    prefetch_to_write(port->peer_ni);
    prefetch_to_write(reinterpret_cast<const std::byte*>(port->peer_ni) + kCacheLine);
  }
}

// The share of the hop in the router buffers is that of this shard, for any home. Lines that
// another home writes stay with that home.
template <std::size_t kStep>
void fetch_hop(const ShardCore& core, const PeerNi& hop, PipelineStep<kStep> /*step*/) {
  if (hop.home == core.id) {
    approach(hop, core.peers, PipelineStep<kStep - 2>{});
  } else if constexpr (kStep == 3) {
    core.peers.prefetch(hop);
  }
  if constexpr (kStep == 4) {
    if (const PeerPort* const port = core.peers.find(hop)) prefetch_to_write(&port->hop);
  }
}

}  // namespace

void look_ahead(ShardCore& core, std::span<const HeaderAhead> next) {
  constexpr std::size_t kMost = LookedAhead::kMost;
  static_assert(kMost >= kAheadDistance, "a burst is as long as the pipeline");
  next = next.first(std::min(next.size(), kMost));
  core.looked_ahead.clear();
  const PeerDirectory& directory = *core.shared.directory;
  const LocalView& ours = core.local();
  const bool routes = core.shared.parameters.routes();
  std::array<std::uint64_t, kMost> hashes{};
  std::array<LookedAhead::Destination*, kMost> found{};
  std::array<PeerNi*, kMost> hops{};
  std::array<bool, kMost> passes{};
  pipeline<kAheadSteps, kAheadDistance>(
      next.size(),
      [&](std::size_t i, auto step) {
        const HeaderAhead& one = next[i];
        if (one.link != nullptr && one.link != &core.loopback) fetch_sender(one.link, step);
        if constexpr (step == 0) {
          passes[i] = routes && ours.ni(one.header->destination) == nullptr;
          if (passes[i]) hashes[i] = directory.prepare(one.header->destination);
        } else if constexpr (step == 1) {
          if (passes[i]) directory.approach(hashes[i]);
        } else if constexpr (step == 2) {
          if (passes[i]) hops[i] = directory.reach(one.header->destination, hashes[i]);
          if (hops[i] != nullptr) found[i] = &core.looked_ahead.add(*hops[i]);
        } else {
          if (step == 3 && hops[i] != nullptr && ours.net(hops[i]->net) == nullptr) {
            found[i]->gateway = find_only_gateway(*hops[i], ours, core.routes());
            hops[i] = found[i]->gateway.next_hop;
          }
          if (hops[i] != nullptr) fetch_hop(core, *hops[i], step);
        }
      },
      [](std::size_t) {});
}

}  // namespace plnet::lnet

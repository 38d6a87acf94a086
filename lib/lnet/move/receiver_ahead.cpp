// SPDX-License-Identifier: BSD-3-Clause
// What messages that are about to be offered will look at, fetched for all of them together: of
// thousands of peers hardly anything is in the cache, and each of its lines leads to the next.
#include <algorithm>
#include <array>

#include "lib/base/pipeline.hpp"
#include "lib/lnet/move/approach.hpp"
#include "lib/lnet/move/receiver.hpp"

namespace plnet::lnet {

namespace {

constexpr std::size_t kAheadDistance = 4;
constexpr std::size_t kAheadSteps = 6;

void fetch_sender(const PeerLink* link, std::size_t step) {
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

}  // namespace

void Receiver::fetch_ahead(std::span<const HeaderAhead> next) {
  constexpr std::size_t kMost = LookedAhead::kMost;
  next = next.first(std::min(next.size(), kMost));
  core_.looked_ahead.clear();
  const PeerDirectory& directory = *core_.shared.directory;
  const LocalView& ours = core_.local();
  const bool routes = core_.shared.parameters.routes();
  std::array<std::uint64_t, kMost> hashes{};
  std::array<PeerNi*, kMost> targets{};
  std::array<bool, kMost> passes{};
  pipeline<kAheadSteps, kAheadDistance>(
      next.size(),
      [&](std::size_t i, auto step) {
        const HeaderAhead& one = next[i];
        if (one.link != nullptr && one.link != &core_.loopback) fetch_sender(one.link, step);
        if constexpr (step == 0) {
          passes[i] = routes && ours.ni(one.header->destination) == nullptr;
          if (passes[i]) hashes[i] = directory.prepare(one.header->destination);
        } else if constexpr (step == 1) {
          if (passes[i]) directory.approach(hashes[i]);
        } else if constexpr (step == 2) {
          if (passes[i]) targets[i] = directory.reach(one.header->destination, hashes[i]);
          if (targets[i] != nullptr) core_.looked_ahead.add(*targets[i]);
        } else if (targets[i] != nullptr) {
          if (step == 3 && ours.net(targets[i]->net) == nullptr) {
            targets[i] = nullptr;  // gateways lead there, and of those there are few
          } else {
            approach(*targets[i], core_.peers, PipelineStep<step - 2>{});
          }
        }
      },
      [](std::size_t) {});
}

}  // namespace plnet::lnet

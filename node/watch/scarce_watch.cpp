// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/scarce_watch.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/lnet/move/shard_core.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using lnet::Cause;
using lnet::NiPort;
using lnet::PeerPort;
using lnet::PoolKeeper;
using lnet::ShardCore;
using What = lnet::StarvingNote::What;

// The port of the peer with the largest `amount`; null if all are 0.
template <class Amount>
const PeerPort* greatest(ShardCore& core, Amount amount) {
  const PeerPort* found = nullptr;
  core.peers.for_each([&](const PeerPort& port) {
    const auto its = amount(port);
    if (its <= decltype(its){}) return;
    if (found == nullptr || its > amount(*found)) found = &port;
  });
  return found;
}

std::string wait_text(std::integral auto waiting, std::int32_t credits) {
  return fmt::format("{} {}, {}", waiting, agreeing(waiting, "waits", "wait"),
                     counted(credits, "credit"));
}

// The client with the most waiting messages; if none wait now, the one that had the most waiting at
// a time.
std::string waiting_client(ShardCore& core) {
  const auto worst = greatest(core, [](const PeerPort& port) {
    return std::pair{static_cast<std::int32_t>(port.client.waiting_count),
                     std::max(-port.client.credits_min, 0)};
  });
  if (worst == nullptr) return {};
  return fmt::format("{} ({})", text_of(worst->peer_ni->nid),
                     wait_text(worst->client.waiting_count, worst->client.credits_max));
}

std::string poorest_ni(const ShardCore& core) {
  const NiPort* worst = nullptr;
  const auto wealth = [](const NiPort& port) {
    return std::pair{port.tx_credits(), port.tx_credits_min()};
  };
  for (const NiPort* const port : core.ports) {
    if (port == nullptr || port->tx_credits_max() == 0 || port->tx_credits_min() >= 0) continue;
    if (worst == nullptr || wealth(*port) < wealth(*worst)) worst = port;
  }
  if (worst == nullptr) return {};
  return fmt::format("{} ({})", text_of(worst->ni().nid),
                     wait_text(std::max(-worst->tx_credits(), 0), worst->tx_credits_max()));
}

std::string slowest_target(ShardCore& core) {
  const auto worst = greatest(core, [](const PeerPort& port) { return port.outstanding; });
  if (worst == nullptr) return {};
  return fmt::format("{} ({} of {})", text_of(worst->peer_ni->nid), worst->outstanding,
                     core.messages.capacity());
}

std::string greatest_sender(ShardCore& core) {
  const auto worst = greatest(core, [](const PeerPort& port) { return port.share.used; });
  if (worst == nullptr) return {};
  return fmt::format("{} ({} of {})", text_of(worst->peer_ni->nid), worst->share.used,
                     core.receives.capacity());
}

}  // namespace

std::string_view name_of(Scarce of) {
  switch (of) {
    case Scarce::kClientCredits: return "client_credits";
    case Scarce::kNiCredits: return "ni_credits";
    case Scarce::kMessages: return "messages";
    case Scarce::kReceives: return "receives";
  }
  return "";
}

ScarceCounts scarce_counts(const Counters<lnet::LnetCauses>& causes) {
  return {causes.get(Cause::kHeldClientCredit), causes.get(Cause::kHeldNiCredit),
          causes.get(Cause::kAnswersWaited) + causes.get(Cause::kHeldRecords),
          causes.get(Cause::kHeldPeerShare) + causes.get(Cause::kDroppedNoReceive)};
}

std::vector<ScarceNews> ScarceWatch::look(const ScarceCounts& counts, Instant now) {
  std::vector<ScarceNews> news;
  for (std::size_t i = 0; i < kScarceThings; ++i) {
    const auto what = step(watches_[i], counts[i], now);
    if (!what) continue;
    watches_[i].told = now;
    news.push_back({.of = static_cast<Scarce>(i),
                    .what = *what,
                    .waited = std::exchange(watches_[i].waited, 0)});
  }
  return news;
}

// `stats reset` may have reset the counter.
std::optional<What> ScarceWatch::step(Watch& watch, std::uint64_t count, Instant now) {
  const std::uint64_t more = count - (count < watch.seen ? 0 : watch.seen);
  watch.seen = count;
  watch.waited += more;
  if (more != 0) watch.waited_at = now;
  if (!watch.starving) {
    if (more == 0) return std::nullopt;
    watch.starving = true;
    return What::kBegins;
  }
  if (now - watch.waited_at >= PoolKeeper::kQuiet) {
    watch.starving = false;
    return What::kOver;
  }
  if (now - watch.told >= PoolKeeper::kTellAgain) return What::kGoesOn;
  return std::nullopt;
}

std::string holder_of(Scarce of, ShardCore& core) {
  switch (of) {
    case Scarce::kClientCredits: return waiting_client(core);
    case Scarce::kNiCredits: return poorest_ni(core);
    case Scarce::kMessages: return slowest_target(core);
    case Scarce::kReceives: return greatest_sender(core);
  }
  return {};
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/tunables.hpp"

#include <algorithm>
#include <array>

namespace plnet::o2iblnd {

namespace {

constexpr auto kTable = std::to_array<TunableInfo>({
#define PLNET_X(name, initial, least, most, help) \
  {#name, initial, least, most, help, &Tunables::name},
    PLNET_O2IBLND_TUNABLES(PLNET_X)
#undef PLNET_X
});
static_assert(std::ranges::all_of(kTable, [](const TunableInfo& info) {
  return info.least <= info.initial && info.initial <= info.most;
}));

constexpr auto kLive = std::to_array<std::string_view>(
    {"cksum", "timeout", "retry_count", "rnr_retry_count", "keepalive", "require_privileged_port",
     "use_privileged_port", "map_on_demand", "fmr_pool_size", "fmr_cache"});

}  // namespace

std::span<const TunableInfo> tunable_table() {
  return kTable;
}

Result<void> set_tunable(Tunables& tunables, std::string_view name, std::int64_t value) {
  const auto found = std::ranges::find(kTable, name, &TunableInfo::name);
  if (found == kTable.end()) return std::unexpected(Errc::kNotFound);
  if (value < found->least || value > found->most) return std::unexpected(Errc::kOutOfRange);
  tunables.*found->field = value;
  return {};
}

bool changes_live(std::string_view name) {
  return std::ranges::find(kLive, name) != kLive.end();
}

unsigned peer_credits(const Tunables& tunables) {
  const auto wanted = static_cast<unsigned>(tunables.peer_credits);
  const unsigned bounded = std::clamp(wanted, kPeerCreditsMin, kPeerCreditsMax);
  return std::min(bounded, static_cast<unsigned>(tunables.credits));
}

unsigned queue_depth(const Tunables& tunables, std::uint16_t version) {
  return version == kVersion1 ? kQueueDepthV1 : peer_credits(tunables);
}

unsigned credits_high_water(const Tunables& tunables, std::uint16_t version, unsigned depth) {
  if (version == kVersion1) return kHighWaterV1;
  const unsigned credits = peer_credits(tunables);
  auto mark = static_cast<unsigned>(tunables.peer_credits_hiw);
  mark = std::max(mark, credits / 2);
  mark = std::min(mark, credits - 1);
  // The kernel's value can become 0 on a shallow queue pair, which then sends NOOPs without end.
  return std::max(depth * mark / credits, 1U);
}

unsigned concurrent_sends(const Tunables& tunables, std::uint16_t version) {
  const unsigned credits = peer_credits(tunables);
  auto sends = static_cast<unsigned>(tunables.concurrent_sends);
  if (sends == 0) sends = credits;
  sends = std::max(std::min(sends, 2 * credits), std::max(credits / 2, 1U));
  if (version == kVersion1) sends = std::clamp(sends, kQueueDepthV1 / 2, kQueueDepthV1 * 2);
  return sends;
}

unsigned connections_per_peer(const Tunables& tunables) {
  return std::max(static_cast<unsigned>(tunables.conns_per_peer), 1U);
}

unsigned depth_that_fits(const DeviceLimits& limits, std::uint16_t version, unsigned depth,
                         unsigned fragments) {
  const unsigned sends = limits.work_requests_max / (1 + fragments);
  const unsigned spare = noops_posted_max(version);
  const unsigned receives =
      limits.work_requests_max > spare ? (limits.work_requests_max - spare) / 2 : 0;
  return std::max(std::min({depth, sends, receives}), 1U);
}

QueuePairSize size_of(std::uint16_t version, unsigned depth, unsigned fragments) {
  return {.send_requests = (1 + fragments) * depth,
          .receive_requests = receives_of(version, depth)};
}

MapRules map_rules(const Tunables& tunables) {
  const auto wanted = static_cast<unsigned>(tunables.fmr_pool_size);
  const unsigned most = std::clamp(wanted, kMappingsMin, unsigned{MapCache::kMappingsMax});
  return {.arenas = tunables.map_on_demand > 1,
          .most = most,
          .open_most = most - kMappingsOfTransfer,
          .keeps = tunables.fmr_cache != 0};
}

ConnectParameters connect_parameters(const Tunables& tunables) {
  return {.retry_count = static_cast<std::uint8_t>(tunables.retry_count),
          .rnr_retry_count = static_cast<std::uint8_t>(tunables.rnr_retry_count),
          .type_of_service = static_cast<int>(tunables.tos)};
}

Duration lnd_timeout(const Tunables& tunables, Duration lnet_lnd_timeout) {
  if (tunables.timeout == 0) return lnet_lnd_timeout;
  return std::chrono::seconds(tunables.timeout);
}

}  // namespace plnet::o2iblnd

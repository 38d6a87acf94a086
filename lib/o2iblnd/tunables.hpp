// SPDX-License-Identifier: BSD-3-Clause
// Everything about o2ib networks that a site can set, under the names of the kernel's module
// parameters, with the defaults of 2.17; and values derived from them.
// Checked against lustre-release v2_17_0 lnet/klnds/o2iblnd/o2iblnd_modparams.c, o2iblnd.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/o2iblnd/queue_pair.hpp"
#include "lib/o2iblnd/wire.hpp"

namespace plnet::o2iblnd {

inline constexpr std::string_view kDefaultInterface = "ib0";  // ipif_name

// X(name, default, least, most, help). Those whose help begins with "ignored" are taken from
// configurations and change nothing here.
#define PLNET_O2IBLND_TUNABLES(X)                                                                 \
  X(service, 987, 1, 65535, "port of the connection manager that we listen on and connect to")    \
  X(cksum, 0, 0, 1, "1: checksums on what we send")                                               \
  X(timeout, 50, 0, 2147483, "seconds until a transfer fails; 0: LNet's")                         \
  X(nscheds, 0, 0, 1024, "ignored: shards do the work")                                           \
  X(conns_per_peer, 1, 0, 127, "queue pairs to each peer; 0: 1")                                  \
  X(ntx, 512, 1, 1048576, "messages of ours under way")                                           \
  X(credits, 256, 1, 1048576, "concurrent sends of an interface")                                 \
  X(peer_credits, 8, 1, 32767, "concurrent sends to a peer; 8 to 255 are used")                   \
  X(peer_credits_hiw, 0, 0, 32767, "return credits by a message when so many are owed")           \
  X(peer_buffer_credits, 0, 0, 32767, "router buffers for a peer; 0: LNet's default")             \
  X(peer_timeout, 180, -1, 2147483, "seconds without news until a peer counts as dead")           \
  X(retry_count, 5, 0, 7, "retransmissions until a queue pair fails")                             \
  X(rnr_retry_count, 6, 0, 7, "retries while the receiver has no buffer; 7: for ever")            \
  X(keepalive, 100, 0, 2147483, "seconds without a send until we send a NOOP; 0: never")          \
  X(ib_mtu, 0, 0, 4096, "ignored: the path's MTU is used")                                        \
  X(concurrent_sends, 0, 0, 32767, "messages posted on a queue pair; 0: peer_credits")            \
  X(use_fastreg_gaps, 0, 0, 1, "ignored: arenas are registered once")                             \
  X(map_on_demand, 1, 0, 257, "2 or more: payloads are mapped when used; 0, 1: once, at start")   \
  X(fmr_pool_size, 512, 1, 1048576, "mappings of an interface on a shard; 512 to 65536 are used") \
  X(fmr_flush_trigger, 384, 1, 1048576, "ignored: mappings go one by one")                        \
  X(fmr_cache, 1, 0, 1, "0: mappings end with their use")                                         \
  X(dev_failover, 0, 0, 2, "ignored: bonds are not followed")                                     \
  X(require_privileged_port, 0, 0, 1, "1: only ports below 1024 may connect to us")               \
  X(use_privileged_port, 1, 0, 1, "1: we connect from ports below 1024")                          \
  X(wrq_sge, 2, 1, 2, "source pieces of a remote write")                                          \
  X(tos, -1, -1, 255, "type of service of our packets; -1: leave it")

struct Tunables {
#define PLNET_X(name, initial, least, most, help) std::int64_t name = initial;
  PLNET_O2IBLND_TUNABLES(PLNET_X)
#undef PLNET_X
};

struct TunableInfo {
  std::string_view name;
  std::int64_t initial = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::string_view help;
  std::int64_t Tunables::* field = nullptr;

  [[nodiscard]] constexpr bool ignored() const { return help.starts_with("ignored"); }
};
[[nodiscard]] std::span<const TunableInfo> tunable_table();

// kNotFound, or kOutOfRange.
[[nodiscard]] Result<void> set_tunable(Tunables& tunables, std::string_view name,
                                       std::int64_t value);

// True if the tunable may change while connections exist: the kernel's module lets root write it
// (0644 in o2iblnd_modparams.c), or it selects the mapping of memory. A new retry count applies to
// later connections.
[[nodiscard]] bool changes_live(std::string_view name);

// The kernel's bounds. o2iblnd_modparams.c: kiblnd_tunables_setup().
inline constexpr unsigned kPeerCreditsMin = 8;
inline constexpr unsigned kPeerCreditsMax = 255;
inline constexpr unsigned kQueueDepthV1 = 8;
inline constexpr unsigned kHighWaterV1 = 7;
inline constexpr unsigned kNoopsV2 = 2;  // of version 2 have receives beside those of credits

// In 8 to 255, and no more than credits.
[[nodiscard]] unsigned peer_credits(const Tunables& tunables);
[[nodiscard]] unsigned queue_depth(const Tunables& tunables, std::uint16_t version);
// Owed credits at which a message of its own returns them.
[[nodiscard]] unsigned credits_high_water(const Tunables& tunables, std::uint16_t version,
                                          unsigned depth);
[[nodiscard]] unsigned concurrent_sends(const Tunables& tunables, std::uint16_t version);
[[nodiscard]] unsigned connections_per_peer(const Tunables& tunables);

[[nodiscard]] constexpr unsigned noops_posted_max(std::uint16_t version) {
  return version == kVersion1 ? 0 : kNoopsV2;
}
[[nodiscard]] constexpr unsigned receives_of(std::uint16_t version, unsigned depth) {
  return 2 * depth + noops_posted_max(version);
}
// The size of a queue pair, and the depth that a device allows. Never 0.
[[nodiscard]] unsigned depth_that_fits(const DeviceLimits& limits, std::uint16_t version,
                                       unsigned depth, unsigned fragments);
[[nodiscard]] QueuePairSize size_of(std::uint16_t version, unsigned depth, unsigned fragments);

// Mappings that a transfer of ours can need at once: a payload has so many pieces at most.
inline constexpr unsigned kMappingsOfTransfer = 256;
inline constexpr unsigned kMappingsMin = 2 * kMappingsOfTransfer;
[[nodiscard]] MapRules map_rules(const Tunables& tunables);

[[nodiscard]] ConnectParameters connect_parameters(const Tunables& tunables);

[[nodiscard]] Duration lnd_timeout(const Tunables& tunables, Duration lnet_lnd_timeout);
inline constexpr Duration kResolveTimeout = std::chrono::seconds(5);  // of an address, of a route
[[nodiscard]] constexpr Duration connect_timeout(Duration lnd_timeout) {
  return lnd_timeout / 4 > kResolveTimeout ? lnd_timeout / 4 : kResolveTimeout;
}
// The longest wait of a message for a connection.
[[nodiscard]] constexpr Duration waiting_timeout(Duration lnd_timeout) {
  return connect_timeout(lnd_timeout) + 2 * kResolveTimeout;
}

}  // namespace plnet::o2iblnd

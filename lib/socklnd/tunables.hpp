// SPDX-License-Identifier: BSD-3-Clause
// The tunables of TCP networks, under the names of the kernel's module parameters and with the
// defaults of 2.17, and the values derived from them.
// Checked against lustre-release v2_17_0 lnet/klnds/socklnd/socklnd_modparams.c,
// lnet/lnet/acceptor.c.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::socklnd {

// X(name, default, least, most, help). Tunables whose help begins with "ignored" are accepted in
// configurations and have no effect.
#define PLNET_SOCKLND_TUNABLES(X)                                                              \
  X(accept_port, 988, 1, 65535, "port that we listen on and connect to")                       \
  X(accept_port_bulk, 988, 1, 65535, "port for bulk connections")                              \
  X(accept_backlog, 127, 1, 65535,                                                             \
    "connections that may wait to be accepted; 127: 1024 or a quarter of all peers")           \
  X(accept_timeout, 5, 1, 3600, "seconds for each read and write while a stranger introduces") \
  X(sock_timeout, 50, 0, 2147483, "seconds without progress until we give up; 0: LNet's")      \
  X(credits, 256, 1, 1048576, "concurrent sends of an interface")                              \
  X(peer_credits, 8, 1, 32767, "concurrent sends to a peer")                                   \
  X(peer_buffer_credits, 0, 0, 32767, "router buffers for a peer; 0: LNet's default")          \
  X(peer_timeout, 180, -1, 2147483, "seconds without news until a peer counts as dead")        \
  X(nscheds, 0, 0, 1024, "ignored: shards do the work")                                        \
  X(nconnds, 4, 1, 1024, "ignored: nothing blocks on a connect")                               \
  X(nconnds_max, 64, 1, 1024, "ignored: nothing blocks on a connect")                          \
  X(min_reconnectms, 1000, 1, 2147483647, "least time between attempts, ms")                   \
  X(max_reconnectms, 60000, 1, 2147483647, "most time between attempts, ms")                   \
  X(eager_ack, 0, 0, 7, "types (a bit each) on which TCP acknowledges at once")                \
  X(typed_conns, 1, 0, 1, "ignored: untyped connections do not work with V3")                  \
  X(min_bulk, 1024, 0, 2147483647, "messages from this size on take bulk connections")         \
  X(tx_buffer_size, 0, 0, 2147483647, "socket send buffer, bytes; 0: the system's")            \
  X(rx_buffer_size, 0, 0, 2147483647, "socket receive buffer, bytes; 0: the system's")         \
  X(nagle, 0, 0, 1, "1: let TCP gather small segments")                                        \
  X(round_robin, 1, 0, 1, "1: equally loaded connections take turns")                          \
  X(keepalive, 30, 0, 2147483, "seconds of silence until we send a NOOP; 0: never")            \
  X(keepalive_idle, 30, 0, 32767, "TCP_KEEPIDLE, seconds")                                     \
  X(keepalive_intvl, 5, 0, 32767, "TCP_KEEPINTVL, seconds")                                    \
  X(keepalive_count, 5, 0, 127, "TCP_KEEPCNT")                                                 \
  X(enable_csum, 0, 0, 1, "1: checksums on what we send, where the peer speaks V2")            \
  X(inject_csum_error, 0, 0, 1, "set to 1: the next checksum of each shard is a wrong one")    \
  X(enable_irq_affinity, 0, 0, 1, "ignored: by the kernel, too")                               \
  X(nonblk_zcack, 1, 0, 1, "1: acknowledge zero-copy sends where no data of ours can block")   \
  X(zc_min_payload, 16384, 2048, 2147483647, "ignored: we ask nobody for acknowledgements")    \
  X(zc_recv, 0, 0, 1, "ignored: payload is read to where it belongs anyway")                   \
  X(zc_recv_min_nfrags, 16, 0, 256, "ignored: see zc_recv")                                    \
  X(conns_per_peer, 0, 0, 255, "connections in each bulk direction; 0: from the link's speed") \
  X(skip_mr_route_setup, 0, 0, 1, "ignored: routing tables are the site's")                    \
  X(tos, -1, -1, 255, "IP type of service; -1: leave it")

struct Tunables {
#define PLNET_X(name, initial, least, most, help) std::int64_t name = initial;
  PLNET_SOCKLND_TUNABLES(PLNET_X)
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

// Whether it may change while there are connections: true of the parameters that root may write in
// the kernel (0644 in socklnd_modparams.c). Socket options apply to later connections.
[[nodiscard]] bool changes_live(std::string_view name);

// The connections that are accepted. lustre-release lnet/lnet/acceptor.c: accept_type.
enum class AcceptPolicy : std::uint8_t { kNone, kSecure, kAll };
[[nodiscard]] std::optional<AcceptPolicy> parse_accept_policy(std::string_view text);

// Reserved source ports, from which `secure` accepts connections and from which we make ours.
inline constexpr std::uint16_t kReservedPortMin = 512;
inline constexpr std::uint16_t kReservedPortMax = 1023;

// The LND waits so long for progress of anything.
[[nodiscard]] Duration lnd_timeout(const Tunables& tunables, Duration lnet_lnd_timeout);

// The connections in each bulk direction. A speed of 0 is unknown. socklnd_modparams.c:
// ksocklnd_speed2cpp().
[[nodiscard]] unsigned connections_per_peer(const Tunables& tunables, std::uint32_t link_mbps);

// min_reconnectms and max_reconnectms count in whole seconds, as the kernel's do.
[[nodiscard]] Duration reconnect_least(const Tunables& tunables);
// The wait after a failure that followed a wait of `previous`.
[[nodiscard]] Duration reconnect_after(const Tunables& tunables, Duration previous);

// The backlog of listen(), which net.core.somaxconn limits (4096; 128 before Linux 5.4); the
// kernel's LND has no such limit. Its default, 127, fits an acceptor that serves one connection
// after the other. Ours serves `strangers_max` at once, so that is our default: all nodes of a site
// may connect in the same millisecond, and a refused one retries after 1, 2 and 4 seconds.
inline constexpr unsigned kStrangersMax = 1024;
[[nodiscard]] unsigned listen_backlog(const Tunables& tunables,
                                      std::size_t strangers_max = kStrangersMax);

[[nodiscard]] StreamOptions stream_options(const Tunables& tunables);

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
// The tunables of kfi networks, under the names of the kernel's module parameters and with their
// defaults, and the values derived from them.
// Checked against lustre-release lnet/klnds/kfilnd/kfilnd_modparams.c.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::kfilnd {

// X(name, default, least, most, help). Tunables whose help begins with "ignored" are accepted in
// configurations and have no effect.
#define PLNET_KFILND_TUNABLES(X)                                                              \
  X(cksum, 0, 0, 1, "1: checksums on what we send, and a look at those that come")            \
  X(kfi_timeout, 125, 0, 2147483, "seconds until a transaction fails; 0: LNet's")             \
  X(tx_scale_factor, 2, 1, 1024, "transmit operations in flight, times credits")              \
  X(rx_cq_scale_factor, 10, 1, 1024, "ignored: event queues hold all that is under way")      \
  X(tx_cq_scale_factor, 10, 1, 1024, "ignored: event queues hold all that is under way")      \
  X(eq_size, 1024, 1, 1048576, "ignored: no data path of kfilnd has that queue")              \
  X(immediate_rx_buf_count, 8, 2, 64, "multi-receive buffers")                                \
  X(prov_cpu_exclusive, 0, 0, 1, "ignored: the provider has no CPUs of its own here")         \
  X(wq_high_priority, 1, 0, 1, "ignored: shards do the work")                                 \
  X(wq_cpu_intensive, 0, 0, 1, "ignored: shards do the work")                                 \
  X(wq_max_active, 512, 0, 512, "ignored: shards do the work")                                \
  X(credits, 512, 1, 65535, "concurrent sends of an interface")                               \
  X(peer_credits, 16, 1, 65535, "concurrent sends to a peer; at most credits")                \
  X(peer_buffer_credits, -1, -1, 65535, "router buffers for a peer; -1: LNet's default")      \
  X(peer_timeout, -1, -1, 2147483, "seconds without news until a peer is dead; -1: LNet's")   \
  X(tn_reserve_min, -1, -1, 1048576, "ignored: all transactions are made at start")           \
  X(msg_reserve_min, -1, -1, 1048576, "ignored: messages need no memory of their own")        \
  X(prov_major_version, 1, 1, 255, "protocol of the provider, in the match bits of a packet") \
  X(prov_minor_version, 0, 0, 255, "and its minor number")                                    \
  X(auth_key, 255, 0, 65535, "VNI: the same on all nodes of a network")

struct Tunables {
#define PLNET_X(name, initial, least, most, help) std::int64_t name = initial;
  PLNET_KFILND_TUNABLES(PLNET_X)
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
// Checks combinations: peer_credits with credits.
[[nodiscard]] Result<void> check(const Tunables& tunables);

// The tunable traffic_class: the queues of the fabric that our packets take. May differ between
// nodes. Values are those of kfabric.
enum class TrafficClass : std::uint32_t {
  kBestEffort = 0x200,
  kLowLatency,
  kDedicatedAccess,
  kBulkData,
  kScavenger,
  kNetworkCtrl,
};
[[nodiscard]] std::optional<TrafficClass> parse_traffic_class(std::string_view name);
[[nodiscard]] std::string_view name_of(TrafficClass value);
// kfi_cxi maps two of them to best effort.
[[nodiscard]] constexpr TrafficClass on_cassini(TrafficClass wanted) {
  const bool none = wanted == TrafficClass::kScavenger || wanted == TrafficClass::kNetworkCtrl;
  return none ? TrafficClass::kBestEffort : wanted;
}

// The longest duration of a transaction.
[[nodiscard]] Duration lnd_timeout(const Tunables& tunables, Duration lnet_lnd_timeout);
// The size of a multi-receive buffer: room for as many messages of full size as there are credits.
[[nodiscard]] std::uint32_t receive_buffer_bytes(const Tunables& tunables);
// The operations in flight that an endpoint has room for.
[[nodiscard]] unsigned operations_max(const Tunables& tunables);

}  // namespace plnet::kfilnd

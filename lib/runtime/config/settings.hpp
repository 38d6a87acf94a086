// SPDX-License-Identifier: BSD-3-Clause
// What a configuration document says, typed and checked. A value that was not given has its
// default, which is what a Settings{} holds: there is no other list of defaults.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/peers/placement.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/cpt/cpt_request.hpp"
#include "lib/runtime/poll/idle.hpp"

namespace plnet::runtime {

struct PollerSettings {
  IdlePolicy idle = IdlePolicy::kAuto;
  std::uint32_t turn_limit_usec = 1000;  // 0 = turns are not judged

  bool operator==(const PollerSettings&) const = default;
};

struct MemorySettings {
  std::uint32_t arena_mib = 64;  // for each NUMA node that has shards

  bool operator==(const MemorySettings&) const = default;
};

struct ExchangeSettings {
  bool enable = false;
  std::uint32_t in_flight = 32;  // tokens for each ordered pair of shards
  std::uint32_t work_nsec = 0;   // pretended work for each token

  bool operator==(const ExchangeSettings&) const = default;
};

// Sizes of what LNet takes at start; 0: chosen by the number of shards.
struct LnetLimits {
  std::uint32_t peers = 4096;     // of the node
  std::uint32_t messages = 0;     // for each shard: being sent
  std::uint32_t receives = 0;     // for each shard: being received
  std::uint32_t descriptors = 0;  // for each shard: memory descriptors, and match entries

  bool operator==(const LnetLimits&) const = default;
};

struct TcpSocketSettings {
  // On NICs whose interrupts are deferred: how the system polls their queues for our sockets.
  std::uint32_t busy_poll_usec = 0;    // 0: not at all
  std::uint32_t busy_poll_budget = 0;  // 0: the system's
  // A routed payload of so many bytes goes from socket to socket; 0: none does.
  std::uint32_t relay_bytes_min = 131072;
  // "auto": the system's unless it paces and the peer is near; "system", or the name of one.
  std::string congestion_control = "auto";

  bool operator==(const TcpSocketSettings&) const = default;
};

enum class KfiBackend : std::uint8_t {
  kLibcxi,  // a Slingshot NIC, by the vendor's library
  kSoft,    // the NIC in software, on a port of DPDK
  kOfi,     // a provider of libfabric
};
inline constexpr std::array<std::string_view, 3> kKfiBackendNames{"libcxi", "soft", "ofi"};
[[nodiscard]] constexpr std::string_view name_of(KfiBackend backend) {
  const auto number = static_cast<std::size_t>(backend);
  return number < kKfiBackendNames.size() ? kKfiBackendNames[number] : std::string_view{};
}

inline constexpr std::size_t kKfiInterfacesMax = 8;  // NICs of the largest Slingshot nodes
inline constexpr unsigned kKfiNisMax = 16;           // on one of them

// A NIC that kfi networks can use.
struct KfiInterface {
  std::string name;  // as `net add --if` says it
  KfiBackend backend = KfiBackend::kLibcxi;
  std::uint32_t service = 1;  // kLibcxi: the service whose resources it takes
  std::string port;           // kSoft: as DPDK's --vdev has it, or a PCI address
  std::int32_t address = -1;  // kSoft: of the NIC; -1: the lowest 20 bits of the port's MAC. kOfi
  std::uint32_t mtu = 0;      // kSoft: 0 is the port's own
  std::string provider;       // kOfi: shm, which has addresses of its own, or one over IPv4
  std::string ip;             // kOfi: of this node, for a provider over IPv4
  std::uint32_t nis = 0;      // that it has room for; 0: for those that are configured at start
  Origin origin{};

  bool operator==(const KfiInterface&) const = default;
};

struct KfiSettings {
  std::string library = "libcxi.so.1";
  std::vector<KfiInterface> interfaces;

  bool operator==(const KfiSettings&) const = default;
};

// A test node of LNet selftest on this node's shards.
struct SelftestSettings {
  bool enable = false;
  std::uint32_t session_timeout_sec = 100;  // a session whose console is silent; 0: never
  std::uint32_t client_mib = 64;            // for the tests that run here as a client, together
  std::uint32_t client_requests = 1024;     // the same: nodes x concurrency
  std::uint32_t server_mib = 32;            // for each shard: what clients write at a time

  bool operator==(const SelftestSettings&) const = default;
};

struct LogSettings {
  LogLevel level = LogLevel::kInfo;

  bool operator==(const LogSettings&) const = default;
};

struct MetricsSettings {
  std::string listen;  // "" = off, else ADDRESS:PORT

  bool operator==(const MetricsSettings&) const = default;
};

// One member for each section of the document.
struct Settings {
  CptPlanRequest cpts{};
  PollerSettings pollers{};
  MemorySettings memory{};
  ExchangeSettings exchange{};
  LnetLimits lnet_limits{};
  lnet::PlacementRule lnet_placement = lnet::PlacementRule::kV217;
  TcpSocketSettings tcp{};
  KfiSettings kfi{};
  SelftestSettings selftest{};
  LogSettings log{};
  MetricsSettings metrics{};
  lnet::NodeConfig lnet{};

  bool operator==(const Settings&) const = default;
};

}  // namespace plnet::runtime

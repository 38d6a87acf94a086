// SPDX-License-Identifier: BSD-3-Clause
// The contents of a configuration document, typed and checked. Settings{} is the only list of
// defaults.
#pragma once

#include <cstdint>
#include <string>

#include "lib/lnet/node/node_config.hpp"
#include "lib/lnet/peers/placement.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/config/section_values.hpp"
#include "lib/runtime/cpt/cpt_request.hpp"
#include "lib/runtime/poll/idle.hpp"

namespace plnet::runtime {

struct PollerSettings {
  IdlePolicy idle = IdlePolicy::kAuto;
  std::uint32_t turn_limit_usec = 1000;  // 0 = turns are not measured

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

// Sizes of LNet's pools at start; 0: chosen by the number of shards.
struct LnetLimits {
  std::uint32_t peers = 0;              // of the node; 0: 4096, on a router by memory
  std::uint32_t new_peers_per_sec = 0;  // 0: half of the peers, at least 1000
  std::uint32_t peers_of_one = 0;       // named by one neighbour; 0: a quarter of the peers
  std::uint32_t messages = 0;           // for each shard: for sending
  std::uint32_t receives = 0;           // for each shard: for receiving
  std::uint32_t descriptors = 0;        // for each shard: memory descriptors, and match entries

  bool operator==(const LnetLimits&) const = default;
};

inline constexpr std::uint32_t kSelftestTimeoutSecMax = 86'400;  // a day

// A test node of LNet selftest on this node's shards.
struct SelftestSettings {
  bool enable = false;
  std::uint32_t session_timeout_sec = 100;  // until a session with a silent console ends; 0: never
  std::uint32_t rpc_timeout_sec = 64;       // of requests of tests that run here; 0: never
  std::uint32_t client_mib = 64;            // for all tests that run here as a client
  std::uint32_t client_requests = 1024;     // the same: nodes x concurrency
  std::uint32_t server_mib = 32;            // for each shard: writes of clients at a time

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

struct StatusPageSettings {
  std::string listen;  // "" = off, else ADDRESS:PORT or a port of 127.0.0.1

  bool operator==(const StatusPageSettings&) const = default;
};

// One member for each section of the document.
struct Settings {
  CptPlanRequest cpts{};
  PollerSettings pollers{};
  MemorySettings memory{};
  ExchangeSettings exchange{};
  LnetLimits lnet_limits{};
  lnet::PlacementRule lnet_placement = lnet::PlacementRule::kV217;
  SectionValues sections{};  // of network families
  SelftestSettings selftest{};
  LogSettings log{};
  MetricsSettings metrics{};
  StatusPageSettings status_page{};
  lnet::NodeConfig lnet{};

  bool operator==(const Settings&) const = default;
};

}  // namespace plnet::runtime

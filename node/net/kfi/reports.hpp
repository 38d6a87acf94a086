// SPDX-License-Identifier: BSD-3-Clause
// Reports of a kfi NI: copies of its state, made on its shard, and their conversion to JSON.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "drivers/net/cassini/inspect.hpp"
#include "lib/kfilnd/facts.hpp"
#include "lib/kfilnd/statistics.hpp"
#include "node/net/kfi/place.hpp"

namespace plnet::node {

using KfiJson = nlohmann::ordered_json;

struct CassiniSeen {
  std::string interface;
  bool is_soft = false;
  unsigned receive_context = 0;
  cassini::EndpointView endpoint;
  std::vector<std::pair<std::string_view, std::uint64_t>> counts;  // of the endpoint
  cassini::NicView nic;
  unsigned arenas_refused = 0;
};

// On the NI's shard. Asks the NIC; with hardware that reads files of the system.
[[nodiscard]] CassiniSeen look_at_cassini(KfiNi& ni);
[[nodiscard]] std::vector<kfilnd::PeerFacts> look_at_peers(const KfiNi& ni, Instant now);

[[nodiscard]] KfiJson report_of(const CassiniSeen& seen);
[[nodiscard]] KfiJson report_of(const kfilnd::PeerFacts& peer);
// The kernel's four tables, each under its name.
[[nodiscard]] std::string tables_of(const kfilnd::Statistics& statistics);

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
// The facts of a configuration that a site needs: its networks, its NIDs there, whether it routes.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

#include "apps/lnet-sim/adopt/config_file.hpp"

namespace plnet::sim {

struct NetFacts {
  lnet::NetId net = lnet::kNetAny;
  std::size_t interfaces = 1;
  std::vector<lnet::Nid> nids{};  // of the first node, the second, …; empty: unknown
};

struct NodeFacts {
  const ConfigFile* file = nullptr;
  std::vector<NetFacts> nets{};
  bool router = false;

  [[nodiscard]] NetFacts* on(lnet::NetId net);
  [[nodiscard]] bool has(const lnet::Nid& nid) const;
};

// The error names the file and the expectation. Assumptions are added to the notes.
[[nodiscard]] std::expected<NodeFacts, std::string> facts_of(const ConfigFile& file,
                                                             std::vector<std::string>& notes);

}  // namespace plnet::sim

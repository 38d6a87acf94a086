// SPDX-License-Identifier: BSD-3-Clause
// The event of the status page: documents of lnetctl, reduced to the fields that the page shows and
// bounded, so that a node with thousands of peers sends no more than a small one. Nothing is judged
// here: verdicts, causes and commands are those of `lnetctl status`.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "lib/lnet/load/load_tally.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "node/watch/recent_lines.hpp"

namespace plnet::node {

struct PageLimits {
  std::size_t nis = 48;
  std::size_t routes = 32;
  std::size_t cpts = 16;
  std::size_t shards = 64;
  std::size_t warnings = 16;
  std::size_t talkers = 12;
  std::size_t pairs = 12;
  std::size_t hops = 12;
  std::size_t text = 400;  // bytes of a text
};

struct PageFacts {
  runtime::Json status;  // of `lnetctl status`
  std::vector<lnet::NetReport> nets;
  std::vector<lnet::RouteReport> routes;
  std::optional<lnet::RoutingReport> routing;
  runtime::Json load;  // page_load(), or null
  std::vector<RecentLine> lines;
};

// The documents of `lnetctl top`: by pair of networks, by sender and by next hop.
[[nodiscard]] runtime::Json page_load(const lnet::LoadSnapshot& snapshot,
                                      const PageLimits& limits = {});

// Objects that are down come first, so that a bound never hides them behind others. `more` has the
// numbers of those left out.
[[nodiscard]] runtime::Json page_snapshot(PageFacts facts, const PageLimits& limits = {});

}  // namespace plnet::node

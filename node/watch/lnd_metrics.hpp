// SPDX-License-Identifier: BSD-3-Clause
// The counters of LNDs among the node's metrics. LNDs live and die on their shards, the register of
// metrics is the admin thread's: it lets go of all before NIs change, and asks for them afterwards.
#pragma once

#include <vector>

#include "lib/runtime/admin/metrics.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

class LnetHost;

class LndMetrics {
 public:
  // The register outlives it; desk and host only have to while something is gathered.
  LndMetrics(LnetDesk& desk, const LnetHost& host, runtime::Metrics& metrics)
      : desk_(desk), host_(host), metrics_(metrics) {}
  ~LndMetrics() { let_go(); }
  LndMetrics(const LndMetrics&) = delete;
  LndMetrics& operator=(const LndMetrics&) = delete;

  // Before an NI may go.
  void let_go();
  // Of the NIs that there are, then `after`; none may go before that.
  void gather(LnetDesk::After after);

 private:
  LnetDesk& desk_;
  const LnetHost& host_;
  runtime::Metrics& metrics_;
  std::vector<runtime::Metrics::Id> ids_;
};

}  // namespace plnet::node

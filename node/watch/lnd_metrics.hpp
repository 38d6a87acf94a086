// SPDX-License-Identifier: BSD-3-Clause
// The counters of LNDs among the node's metrics. Shards create and destroy LNDs, but the register
// of metrics belongs to the admin thread. So all counters are removed before NIs change, and added
// again afterwards.
#pragma once

#include <vector>

#include "lib/runtime/admin/metrics.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

class LnetHost;

class LndMetrics {
 public:
  // The register outlives this object; desk and host only need to exist during gather().
  LndMetrics(LnetDesk& desk, const LnetHost& host, runtime::Metrics& metrics)
      : desk_(desk), host_(host), metrics_(metrics) {}
  ~LndMetrics() { let_go(); }
  LndMetrics(const LndMetrics&) = delete;
  LndMetrics& operator=(const LndMetrics&) = delete;

  // Before an NI may be removed.
  void let_go();
  // Adds the counters of the present NIs, then calls `after`. No NI may be removed before that.
  void gather(LnetDesk::After after);

 private:
  LnetDesk& desk_;
  const LnetHost& host_;
  runtime::Metrics& metrics_;
  std::vector<runtime::Metrics::Id> ids_;
};

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
// The register of counters in prometheus-cpp's own types, for the few files that use them.
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

#include "lib/runtime/admin/metrics.hpp"

namespace plnet::runtime {

[[nodiscard]] std::vector<prometheus::MetricFamily> metric_families(const Metrics& metrics);

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/cpt_request.hpp"

namespace plnet::runtime {

std::string_view name_of(CptPlanRequest::By by) {
  switch (by) {
    case CptPlanRequest::By::kAuto: return "auto";
    case CptPlanRequest::By::kNumaNode: return "numa";
    case CptPlanRequest::By::kCore: return "core";
    case CptPlanRequest::By::kPartitions: return "partitions";
    case CptPlanRequest::By::kPattern: return "pattern";
    case CptPlanRequest::By::kList: return "list";
  }
  return "unknown";
}

}  // namespace plnet::runtime

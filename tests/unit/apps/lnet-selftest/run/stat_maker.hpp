// SPDX-License-Identifier: BSD-3-Clause
// STAT answers of nodes, made up for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/selftest/console/transaction_result.hpp"

namespace plnet::run {

struct Counted {
  std::uint32_t running_ms = 0;
  std::uint32_t rpcs = 0;
  std::uint64_t sent_bytes = 0;
  std::uint32_t brw_errors = 0;
};

inline selftest::TransactionResult stat_of(const std::vector<Counted>& nodes) {
  selftest::TransactionResult result;
  result.kind = selftest::TransactionKind::kStat;
  for (const Counted& counted : nodes) {
    selftest::StatSeen seen;
    seen.framework.running_ms = counted.running_ms;
    seen.framework.brw_errors = counted.brw_errors;
    seen.rpc.sent = counted.rpcs;
    seen.lnet.send_length = counted.sent_bytes;
    selftest::NodeResult node;
    node.id = *lnet::parse_process_id("10.0.0." + std::to_string(result.nodes.size() + 1) + "@tcp");
    node.seen = seen;
    result.nodes.push_back(node);
  }
  return result;
}

}  // namespace plnet::run

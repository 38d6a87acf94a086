// SPDX-License-Identifier: BSD-3-Clause
// The RPCs of one command: the same request to several nodes, the results so far, and the changes
// of the console's objects at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "lib/selftest/console/distribution.hpp"
#include "lib/selftest/console/limits.hpp"
#include "lib/selftest/console/transaction_result.hpp"
#include "lib/selftest/requester.hpp"

namespace plnet::selftest {

// The session features of all nodes: the first answer to MAKE_SESSION, or the first JOIN, fixes
// them. Old nodes know no features.
struct FeatureAgreement {
  std::uint32_t value = kFeaturesKnown;
  bool fixed = false;

  [[nodiscard]] bool agree(std::uint32_t theirs);
};

// Sent with TEST to clients.
struct DestinationLists {
  Distribution distribution;
  std::vector<lnet::ProcessId> servers;
};

struct Transaction {
  using Request = std::variant<MakeSessionRequest, RemoveSessionRequest, DebugRequest, BatchRequest,
                               TestRequest, StatRequest>;
  // Called once at the end, before the user's callback. It may return a follow-up transaction,
  // which takes over the id and the user of this one.
  using Settle = std::move_only_function<std::unique_ptr<Transaction>(const TransactionResult&)>;

  // The result keeps the order of the nodes. `features` outlives the transaction.
  Transaction(TransactionKind kind, std::vector<ConsoleNodePtr> whom, const Request& what,
              FeatureAgreement& agreed);

  TransactionResult result;
  const std::vector<ConsoleNodePtr> nodes;
  const Request request;
  std::vector<std::uint32_t> test_numbers;  // one for each node; empty: as in `request`
  std::optional<DestinationLists> lists;
  FeatureAgreement& features;
  const std::uint32_t features_sent;
  Duration timeout = kTransactionTimeout;
  Duration pause = Duration::zero();  // before the first RPC
  Settle settle;
  WhenDone when_done;

  // The session that answers must belong to.
  [[nodiscard]] SessionId session() const;
  // Node `index` has answered.
  void take_reply(std::size_t index, const ClientRpc& rpc, Instant now);
  // Node `index` will not answer.
  void take_failure(std::size_t index, int error, Instant now);
  // All nodes have answered or will not answer.
  void conclude();

 private:
  // Returns true if the node refused.
  [[nodiscard]] bool judge(const ClientRpc& rpc, ConsoleNode& node, NodeResult& one);
  void count_ping(const NodeResult& one);
};

// The errno for users of `lst`: cancelled RPCs are EINTR.
[[nodiscard]] int rpc_errno_of(Errc code);

}  // namespace plnet::selftest

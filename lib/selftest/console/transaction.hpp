// SPDX-License-Identifier: BSD-3-Clause
// The RPCs of one command: the same request to each of some nodes, what has come back so far, and
// what is to become of the console's own objects when all is over.
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

// What nodes of a session agree on: the first answer to MAKE_SESSION, or the first request to join,
// says what it is. A node of old knows no features.
struct FeatureAgreement {
  std::uint32_t value = kFeaturesKnown;
  bool fixed = false;

  [[nodiscard]] bool agree(std::uint32_t theirs);
};

// To go with TEST to clients.
struct DestinationLists {
  Distribution distribution;
  std::vector<lnet::ProcessId> servers;
};

struct Transaction {
  using Request = std::variant<MakeSessionRequest, RemoveSessionRequest, DebugRequest, BatchRequest,
                               TestRequest, StatRequest>;
  // Called once when it is over, before the user is told. It may go on with another transaction,
  // which then has this one's name and user.
  using Settle = std::move_only_function<std::unique_ptr<Transaction>(const TransactionResult&)>;

  // Of these nodes, in this order. `features` outlives it.
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
  Duration pause = Duration::zero();  // before it begins
  Settle settle;
  WhenDone when_done;

  // Whose answer is looked for.
  [[nodiscard]] SessionId session() const;
  // Node `index` has answered.
  void take_reply(std::size_t index, const ClientRpc& rpc, Instant now);
  // It will not.
  void take_failure(std::size_t index, int error, Instant now);
  // All have, or will not.
  void conclude();

 private:
  // Returns whether the node refused.
  [[nodiscard]] bool judge(const ClientRpc& rpc, ConsoleNode& node, NodeResult& one);
  void count_ping(const NodeResult& one);
};

// errno for a person who knows `lst`: what was given up is EINTR.
[[nodiscard]] int rpc_errno_of(Errc code);

}  // namespace plnet::selftest

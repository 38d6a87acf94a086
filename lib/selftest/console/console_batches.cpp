// SPDX-License-Identifier: BSD-3-Clause
// Commands about batches and tests.
#include <algorithm>
#include <utility>

#include "lib/selftest/console/console.hpp"

namespace plnet::selftest {

namespace {

constexpr Duration kQueryTimeoutMax = std::chrono::hours(24);

// The nodes that did not accept the request of the transaction.
std::unordered_set<const ConsoleNode*> without(const TransactionResult& result,
                                               const std::vector<ConsoleNodePtr>& asked) {
  std::unordered_set<const ConsoleNode*> nodes;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    if (result.nodes[i].rpc_errno != 0 || result.nodes[i].refused) nodes.insert(asked[i].get());
  }
  return nodes;
}

}  // namespace

// --- Queries of the console's state ---

Answer<void> Console::add_batch(std::string_view name) {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  const auto made = (*session)->make_batch(name, last_batch_ + 1);
  if (!made) return std::unexpected(made.error());
  ++last_batch_;
  return {};
}

Answer<std::vector<std::string>> Console::list_batches() {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  std::vector<std::string> names;
  for (const auto& batch : (*session)->batches)
    names.push_back(batch->name);
  return names;
}

Answer<BatchInfo> Console::batch_info(std::string_view name) {
  const auto found = use_batch(name);
  if (!found) return std::unexpected(found.error());
  const ConsoleBatch& batch = **found;
  return BatchInfo{.id = batch.id,
                   .name = batch.name,
                   .tests = static_cast<std::uint32_t>(batch.tests.size()),
                   .state = batch.state,
                   .clients = batch.clients.counts(),
                   .servers = batch.servers.counts()};
}

Answer<const ConsoleTest*> Console::use_test(std::string_view batch, std::uint32_t number) {
  const auto found = use_batch(batch);
  if (!found) return std::unexpected(found.error());
  if (number == 0 || number > (*found)->tests.size())
    return refuse(Refusal::kNotFound, "no such test in the batch");
  return (*found)->tests[number - 1].get();
}

Answer<TestInfo> Console::test_info(std::string_view batch, std::uint32_t number) {
  const auto found = use_test(batch, number);
  if (!found) return std::unexpected(found.error());
  const ConsoleTest& test = **found;
  return TestInfo{.service = service_of(test.spec),
                  .loop = test.spec.loop,
                  .concurrency = test.spec.concurrency,
                  .clients = test.from->nodes.counts(),
                  .servers = test.to->nodes.counts()};
}

Answer<std::vector<NodeInfo>> Console::batch_nodes(std::string_view batch, std::uint32_t test,
                                                   bool servers, NodeStates states) {
  if (test != 0) {
    const auto found = use_test(batch, test);
    if (!found) return std::unexpected(found.error());
    return (servers ? (*found)->to : (*found)->from)->nodes.info(states);
  }
  const auto found = use_batch(batch);
  if (!found) return std::unexpected(found.error());
  return (servers ? (*found)->servers : (*found)->clients).info(states);
}

// --- Tests ---

Answer<TransactionId> Console::add_test(const AddTest& wanted, WhenDone when_done) {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  if (const auto judged = judge(wanted, (*session)->features.value); !judged)
    return std::unexpected(judged.error());
  const auto batch = change_batch(wanted.batch);
  if (!batch) return std::unexpected(batch.error());
  if ((*batch)->state != BatchState::kIdle)
    return refuse(Refusal::kInvalid, "the batch is running");
  auto test = std::make_unique<ConsoleTest>();
  test->spec = wanted;
  for (const auto& [name, group] :
       {std::pair{&wanted.from, &test->from}, std::pair{&wanted.to, &test->to}}) {
    const auto found = use_group(*name);
    if (!found) return std::unexpected(found.error());
    *group = *found;
  }
  if (const auto judged = judge_groups(*test); !judged) return std::unexpected(judged.error());
  if ((*session)->tests >= kConsoleTestsMax) return refuse(Refusal::kTooMany);
  // Until the session ends, whatever the result: nodes know the members of the groups from now on.
  ++(*session)->tests;
  ++test->from->tests;
  ++test->to->tests;
  (*batch)->changing = true;
  auto question = ask_servers(**batch, std::move(test));
  question->when_done = std::move(when_done);
  return runner_.start(std::move(question));
}

Answer<void> Console::judge_groups(const ConsoleTest& test) {
  for (const ConsoleGroup* const group : {test.from, test.to}) {
    if (group->nodes.counts().active == 0)
      return refuse(Refusal::kInvalid, "a group has no active nodes");
  }
  for (const ConsoleGroup* const group : {test.from, test.to}) {
    if (group->changing) return refuse(Refusal::kBusy);
    if (!group->all_active()) return refuse(Refusal::kNodeInactive);
  }
  if (!test.distribution().possible())
    return refuse(Refusal::kInvalid, "a client cannot send to more servers than there are");
  const auto& servers = test.to->nodes.nodes();
  if (std::any_of(servers.begin(), servers.end(),
                  [](const auto& node) { return node->id.nid.is_large(); }))
    return refuse(Refusal::kInvalid, "lists for clients have room for 4-byte addresses only");
  return {};
}

TestRequest Console::request_of(const ConsoleBatch& batch, const ConsoleTest& test,
                                bool for_client) const {
  const AddTest& spec = test.spec;
  const auto loop = for_client ? static_cast<std::uint32_t>(spec.loop)
                               : test.distribution().server_loop(spec.concurrency);
  return {.session = session_->id,
          .batch = batch.id,
          .service = service_of(spec),
          .loop = loop,
          .concurrency = spec.concurrency,
          .is_client = for_client ? std::uint8_t{1} : std::uint8_t{0},
          .stop_on_error = 1,
          .destinations = for_client ? spec.span : 0,
          .parameters = parameters_of(spec, session_->features.value, for_client)};
}

std::unique_ptr<Transaction> Console::ask_servers(ConsoleBatch& batch,
                                                  std::unique_ptr<ConsoleTest> test) {
  for (const ConsoleNodePtr& node : test->to->nodes.nodes())
    PLNET_CHECK(batch.servers.add(node), "it is in the table already");
  auto question =
      std::make_unique<Transaction>(TransactionKind::kAddServers, test->to->nodes.nodes(),
                                    request_of(batch, *test, false), session_->features);
  question->settle = [this, &batch, test = std::move(test)](
                         const TransactionResult& result) mutable -> std::unique_ptr<Transaction> {
    if (!session_->ending && result.rpcs_failed == 0 && result.refused == 0)
      return ask_clients(batch, std::move(test));
    test->not_servers = without(result, test->to->nodes.nodes());
    batch.tests.push_back(std::move(test));
    batch.changing = false;
    return nullptr;
  };
  return question;
}

std::unique_ptr<Transaction> Console::ask_clients(ConsoleBatch& batch,
                                                  std::unique_ptr<ConsoleTest> test) {
  for (const ConsoleNodePtr& node : test->from->nodes.nodes())
    PLNET_CHECK(batch.clients.add(node), "it is in the table already");
  test->clients_asked = true;
  auto question =
      std::make_unique<Transaction>(TransactionKind::kAddClients, test->from->nodes.nodes(),
                                    request_of(batch, *test, true), session_->features);
  DestinationLists& lists = question->lists.emplace();
  lists.distribution = test->distribution();
  for (const ConsoleNodePtr& node : test->to->nodes.nodes())
    lists.servers.push_back(node->id);
  question->settle = [&batch, test = std::move(test)](const TransactionResult& result) mutable {
    test->not_clients = without(result, test->from->nodes.nodes());
    batch.tests.push_back(std::move(test));
    batch.changing = false;
    return nullptr;
  };
  return question;
}

// --- Running them ---

std::unique_ptr<Transaction> Console::ask_batch(const ConsoleBatch& batch, TransactionKind kind,
                                                Nodes nodes, std::uint32_t argument) {
  BatchOperation operation = BatchOperation::kQuery;
  if (kind == TransactionKind::kRun) operation = BatchOperation::kRun;
  if (kind == TransactionKind::kStop) operation = BatchOperation::kStop;
  return std::make_unique<Transaction>(
      kind, std::move(nodes),
      BatchRequest{
          .session = session_->id, .batch = batch.id, .operation = operation, .argument = argument},
      session_->features);
}

Answer<TransactionId> Console::run(std::string_view name, std::uint32_t timeout_s,
                                   WhenDone when_done) {
  const auto found = change_batch(name);
  if (!found) return std::unexpected(found.error());
  ConsoleBatch& batch = **found;
  if (batch.clients.counts().active != batch.clients.size()) return refuse(Refusal::kNodeInactive);
  auto order = ask_batch(batch, TransactionKind::kRun, batch.clients.nodes(), timeout_s);
  batch.changing = true;
  batch.may_run = true;
  ++batch.runs;
  order->settle = [&batch](const TransactionResult& result) {
    batch.changing = false;
    if (result.succeeded() > 0) batch.state = BatchState::kRunning;
    return nullptr;
  };
  order->when_done = std::move(when_done);
  return runner_.start(std::move(order));
}

Answer<TransactionId> Console::stop(std::string_view name, bool force, WhenDone when_done) {
  const auto found = change_batch(name);
  if (!found) return std::unexpected(found.error());
  ConsoleBatch& batch = **found;
  Nodes nodes = batch.clients.nodes();
  std::erase_if(nodes, [](const auto& node) { return node->state != NodeState::kActive; });
  auto order = ask_batch(batch, TransactionKind::kStop, std::move(nodes), force ? 1 : 0);
  batch.changing = true;
  order->settle = [&batch](const TransactionResult& result) {
    batch.changing = false;
    if (result.refused == 0) batch.state = BatchState::kIdle;
    return nullptr;
  };
  order->when_done = std::move(when_done);
  return runner_.start(std::move(order));
}

Answer<TransactionId> Console::query(std::string_view name, std::uint32_t number, bool servers,
                                     std::uint32_t timeout_s, WhenDone when_done) {
  const auto found = use_batch(name);
  if (!found) return std::unexpected(found.error());
  ConsoleBatch& batch = **found;
  Nodes nodes = batch.clients.nodes();
  std::vector<std::uint32_t> numbers;
  if (number != 0) {
    const auto test = use_test(name, number);
    if (!test) return std::unexpected(test.error());
    nodes = (*test)->from->nodes.nodes();
    for (const ConsoleNodePtr& node : nodes)
      numbers.push_back(batch.number_on(*node, number));
  }
  if (const auto room = judge_room(); !room) return std::unexpected(room.error());
  const auto kind = servers ? TransactionKind::kQueryServers : TransactionKind::kQueryClients;
  auto question = ask_batch(batch, kind, std::move(nodes), 0);
  question->test_numbers = std::move(numbers);
  question->timeout = std::clamp<Duration>(std::chrono::seconds(timeout_s), kTransactionTimeoutMin,
                                           kQueryTimeoutMax);
  if (number == 0) {
    // An answer to a query from before a run says nothing about that run.
    const bool settled = !batch.changing;
    question->settle = [&batch, settled, seen = batch.runs](const TransactionResult& result) {
      if (!settled || batch.changing || batch.runs != seen) return nullptr;
      if (result.rpcs_failed != 0 || result.running != 0) return nullptr;
      batch.state = BatchState::kIdle;
      batch.may_run = false;
      return nullptr;
    };
  }
  question->when_done = std::move(when_done);
  return runner_.start(std::move(question));
}

// A kernel node whose session ends while its tests run waits for itself for ever (2.17: the last
// unit destroys the session from within the work item that this destruction cancels).
std::unique_ptr<Transaction> Console::halt(Halt halt) {
  const auto& batches = session_->batches;
  const auto found =
      std::find_if(batches.begin(), batches.end(), [](const auto& one) { return one->may_run; });
  if (closing_ || found == batches.end() || now_ >= halt.until) return halt.then();
  ConsoleBatch& batch = **found;
  const bool stopped = halt.stopped == &batch;
  Nodes nodes = batch.clients.nodes();
  std::erase_if(nodes, [](const auto& node) { return node->state != NodeState::kActive; });
  auto order = ask_batch(batch, stopped ? TransactionKind::kQueryClients : TransactionKind::kStop,
                         std::move(nodes), stopped ? 0 : 1);
  order->timeout = kTransactionTimeoutMin;
  order->pause = halt.pause;
  halt.pause = stopped ? kHaltPause : Duration::zero();
  halt.stopped = &batch;
  order->settle = [this, &batch, stopped,
                   halt = std::move(halt)](const TransactionResult& result) mutable {
    // Nodes without an answer do not delay the end.
    if (stopped && result.running == 0) {
      batch.may_run = false;
      halt.pause = Duration::zero();
    }
    return this->halt(std::move(halt));
  };
  return order;
}

}  // namespace plnet::selftest

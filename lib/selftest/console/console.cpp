// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/console.hpp"

#include <algorithm>
#include <utility>

namespace plnet::selftest {

namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);  // resolution of timeouts in seconds
constexpr std::string_view kDefaultBatch = "batch";

SessionInfo info_of(const ConsoleSession& session) {
  return {.id = session.id,
          .name = session.name,
          .key = session.key,
          .features = session.features.value,
          .timeout_s = session.timeout_s,
          .force = session.force,
          .nodes = static_cast<std::uint32_t>(session.nodes.size())};
}

}  // namespace

Console::Console(lnet::DataOperations& operations, const ConsoleSetup& setup, WorkMemory& memory)
    : timers_(setup.start, kTick),
      ids_(setup.unix_seconds, operations.shard(), setup.shards, RpcIds::User::kConsole),
      runner_(operations, timers_, ids_, statistics_, {.rpcs = setup.rpcs, .lists = setup.lists},
              memory),
      joins_(operations, statistics_, setup.join_buffers, *this, memory),
      pinger_(timers_, runner_),
      now_(setup.start),
      last_command_(setup.start) {}

Console::~Console() {
  (void)timers_.cancel(expiry_);
}

std::size_t Console::memory_bytes(const ConsoleSetup& setup) {
  return TransactionRunner::memory_bytes({.rpcs = setup.rpcs, .lists = setup.lists}) +
         JoinService::memory_bytes(setup.join_buffers);
}

// --- Start and end ---

void Console::open() {
  closing_ = false;
  joins_.open();
}

void Console::close() {
  closing_ = true;
  joins_.close();
  if (session_ == nullptr) return;
  if (session_->ending) return runner_.end_all(ESHUTDOWN);
  (void)end(false, {}, {});
}

bool Console::closed() const {
  return session_ == nullptr && runner_.pending() == 0 && runner_.idle() && joins_.closed();
}

unsigned Console::poll(Instant now) {
  now_ = now;
  if (std::exchange(used_, false)) last_command_ = now;
  unsigned work = runner_.take_replies(now);
  work += joins_.poll(now);
  work += timers_.advance(now);
  return work + runner_.turn();
}

Instant Console::next_deadline() const {
  if (used_ || runner_.has_work() || joins_.has_work()) return Instant::min();
  return timers_.next_deadline();
}

void Console::cancel(TransactionId transaction) {
  runner_.end(transaction, EINTR);
}

// --- Common checks of commands ---

Answer<ConsoleSession*> Console::use() {
  if (session_ == nullptr) return refuse(Refusal::kNoSession);
  if (session_->ending) return refuse(Refusal::kShuttingDown);
  used_ = true;
  return session_.get();
}

Answer<ConsoleGroup*> Console::use_group(std::string_view name) {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  if (ConsoleGroup* const group = (*session)->group(name)) return group;
  return refuse(Refusal::kNotFound, "no such group in the session");
}

Answer<ConsoleBatch*> Console::use_batch(std::string_view name) {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  if (ConsoleBatch* const batch = (*session)->batch(name)) return batch;
  return refuse(Refusal::kNotFound, "no such batch in the session");
}

Answer<ConsoleGroup*> Console::change_group(std::string_view name) {
  const auto group = use_group(name);
  if (group && (*group)->busy()) return refuse(Refusal::kBusy);
  if (const auto room = judge_room(); group && !room) return std::unexpected(room.error());
  return group;
}

Answer<ConsoleBatch*> Console::change_batch(std::string_view name) {
  const auto batch = use_batch(name);
  if (batch && (*batch)->changing) return refuse(Refusal::kNotPermitted);
  if (const auto room = judge_room(); batch && !room) return std::unexpected(room.error());
  return batch;
}

Answer<void> Console::judge_room() const {
  if (runner_.pending() < kConsoleTransactionsMax) return {};
  return refuse(Refusal::kTooMany, "too many commands are under way");
}

// --- Sessions ---

Answer<TransactionId> Console::new_session(const NewSession& wanted, WhenDone when_done) {
  if (closing_ || (session_ != nullptr && session_->ending)) return refuse(Refusal::kShuttingDown);
  if (session_ != nullptr && !wanted.force) return refuse(Refusal::kExists);
  if ((wanted.features & ~kFeaturesKnown) != 0) return refuse(Refusal::kProtocol);
  if (const auto judged = judge_name(wanted.name); !judged) return std::unexpected(judged.error());
  if (wanted.nid.is_any()) return refuse(Refusal::kInvalid, "a session is named after a NID");
  if (session_ != nullptr)
    return end(true, [this, wanted] { make_session(wanted); }, std::move(when_done));
  make_session(wanted);
  auto nothing = std::make_unique<Transaction>(TransactionKind::kRemoveSession, Nodes{},
                                               RemoveSessionRequest{}, session_->features);
  nothing->when_done = std::move(when_done);
  return runner_.start(std::move(nothing));
}

void Console::make_session(const NewSession& wanted) {
  // A second session within the same millisecond still gets another stamp.
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch());
  last_stamp_ = std::max<std::int64_t>(last_stamp_ + 1, ms.count());
  session_ = std::make_unique<ConsoleSession>();
  session_->id = {.nid = lnet::to_nid64(wanted.nid).value, .stamp = last_stamp_};
  session_->name = wanted.name;
  session_->key = wanted.key;
  session_->timeout_s = wanted.timeout_s == 0 ? kConsoleTimeoutS : wanted.timeout_s;
  session_->force = wanted.force;
  session_->features.value = wanted.features;
  PLNET_CHECK(session_->make_batch(kDefaultBatch, ++last_batch_).has_value(), "it is the first");
  used_ = true;
  pinger_.start(*session_, now_);
  timers_.start(expiry_, now_ + std::chrono::seconds(session_->timeout_s));
}

Answer<TransactionId> Console::end_session(WhenDone when_done) {
  if (const auto session = use(); !session) return std::unexpected(session.error());
  return end(true, {}, std::move(when_done));
}

// No object of the session is in use when the session is destroyed: the results of pending
// transactions have been delivered before, in the order of their commands.
TransactionId Console::end(bool notify_nodes, std::move_only_function<void()> then,
                           WhenDone when_done) {
  session_->ending = true;
  pinger_.stop();
  (void)timers_.cancel(expiry_);
  runner_.end_all(ESHUTDOWN);
  // Without REMOVE_SESSION to the nodes there is no node to wait for.
  auto first = halt({.until = notify_nodes ? now_ + kHaltTimeout : now_,
                     .then = [this, notify_nodes, then = std::move(then)]() mutable {
                       return ask_to_forget(notify_nodes, std::move(then));
                     }});
  first->when_done = std::move(when_done);
  return runner_.start(std::move(first));
}

std::unique_ptr<Transaction> Console::ask_to_forget(bool notify_nodes,
                                                    std::move_only_function<void()> then) {
  Nodes nodes;
  if (notify_nodes && !closing_) nodes = session_->nodes.all();
  std::erase_if(nodes, [](const auto& node) { return node->state != NodeState::kActive; });
  auto removal = std::make_unique<Transaction>(TransactionKind::kRemoveSession, std::move(nodes),
                                               RemoveSessionRequest{.session = session_->id},
                                               session_->features);
  removal->settle = [this, then = std::move(then)](const TransactionResult& /*result*/) mutable {
    session_.reset();
    if (then && !closing_) then();
    return nullptr;
  };
  return removal;
}

void Console::on_expiry(Timer& /*timer*/, Instant now) {
  const Instant end_of_it = last_command_ + std::chrono::seconds(session_->timeout_s);
  if (now < end_of_it) return timers_.start(expiry_, end_of_it);
  (void)end(true, {}, {});
}

Answer<SessionInfo> Console::show_session() {
  const auto session = use();
  if (!session) return std::unexpected(session.error());
  return info_of(**session);
}

std::optional<SessionInfo> Console::session() const {
  if (session_ == nullptr || session_->ending) return std::nullopt;
  return info_of(*session_);
}

std::uint32_t Console::session_left_s() const {
  if (session_ == nullptr) return 0;
  const Instant begun = used_ ? now_ : last_command_;
  const Duration left = begun + std::chrono::seconds(session_->timeout_s) - now_;
  return static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::seconds>(std::max(left, Duration{})).count());
}

// --- JOIN ---

JoinJudge::Verdict Console::judge_join(const JoinRequest& request, std::uint32_t features,
                                       const lnet::ProcessId& peer) {
  Verdict verdict;
  verdict.reply.status = join(request, features, peer);
  if (session_ == nullptr || session_->ending) return verdict;
  verdict.features = session_->features.value;
  verdict.reply.session = session_->id;
  if (verdict.reply.status != Status::kOk) return verdict;
  verdict.reply.timeout_s = session_->timeout_s;
  verdict.reply.session_name = name_from(session_->name);
  return verdict;
}

Status Console::join(const JoinRequest& request, std::uint32_t features,
                     const lnet::ProcessId& peer) {
  if (session_ == nullptr || session_->ending) return Status::kNoSession;
  if (!session_->features.agree(features)) return Status::kProtocol;
  if (!request.session.is_none() && request.session != session_->id) return Status::kBusy;
  if (!can_be_asked(peer)) return Status::kInvalid;
  const std::string_view name = text_of(request.group);
  ConsoleGroup* group = session_->group(name);
  if (group == nullptr) {
    const auto made = session_->make_group(name);
    if (!made) return made.error().code == Refusal::kTooMany ? Status::kNoMemory : Status::kInvalid;
    group = *made;
  }
  if (group->busy()) return Status::kBusy;
  const ConsoleNodePtr node = session_->nodes.find_or_make(peer, now_);
  if (group->nodes.contains(*node)) return Status::kExists;
  if (!group->nodes.add(node)) {
    if (group->nodes.empty()) session_->forget(*group);
    return Status::kNoMemory;
  }
  node->state = NodeState::kActive;
  node->timeout_s = session_->timeout_s;
  node->heard = now_;
  return Status::kOk;
}

}  // namespace plnet::selftest

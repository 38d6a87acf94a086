// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/framework.hpp"

#include <array>

#include "lib/selftest/test_server.hpp"

namespace plnet::selftest {

namespace {

constexpr std::size_t kServices = 7;

// JOIN is the last one.
std::array<ServedService, kServices> services(RequestHandler& handler, std::size_t buffers) {
  return {ServedService{Service::kDebug, &handler, buffers},
          ServedService{Service::kMakeSession, &handler, buffers},
          ServedService{Service::kRemoveSession, &handler, buffers},
          ServedService{Service::kBatch, &handler, buffers},
          ServedService{Service::kTest, &handler, buffers},
          ServedService{Service::kStat, &handler, buffers},
          ServedService{Service::kJoin, &handler, buffers}};
}

}  // namespace

void add_to(LnetCounters& sum, const Counters<lnet::LnetStatistics>& shard) {
  using lnet::Statistic;
  const auto small = [&shard](Statistic id) { return static_cast<std::uint32_t>(shard.get(id)); };
  sum.messages_alloc += small(Statistic::kMessagesAlloc);
  sum.messages_max += small(Statistic::kMessagesMax);
  sum.errors += small(Statistic::kErrors);
  sum.send_count += small(Statistic::kSendCount);
  sum.receive_count += small(Statistic::kReceiveCount);
  sum.route_count += small(Statistic::kRouteCount);
  sum.drop_count += small(Statistic::kDropCount);
  sum.send_length += shard.get(Statistic::kSendLength);
  sum.receive_length += shard.get(Statistic::kReceiveLength);
  sum.route_length += shard.get(Statistic::kRouteLength);
  sum.drop_length += shard.get(Statistic::kDropLength);
}

Framework::Framework(const Surroundings& around, const FrameworkSetup& setup, WorkMemory& memory)
    : timers_(around.timers),
      ended_(around.ended),
      lnet_(around.lnet),
      setup_(setup),
      servers_(around.servers.begin(), around.servers.end()),
      statistics_(around.statistics),
      requester_(around.operations, around.timers, around.ids, statistics_, setup.units, memory),
      responder_(around.operations, statistics_,
                 {.services = std::span<const ServedService>(services(*this, setup.buffers))
                                  .first(setup.takes_joins ? kServices : kServices - 1),
                  .rpcs = setup.rpcs},
                 memory),
      client_(requester_, around.source, *this, setup.rpc_timeout, around.latency, around.paced),
      sinks_(memory.split(setup.sink_bytes)),
      pages_(setup.rpcs),
      sessions_(setup.sessions),
      batches_(setup.batches),
      tests_(setup.tests),
      units_(setup.units) {
  for (std::uint32_t i = 0; i < pages_.capacity(); ++i)
    pages_.at(i) = memory.split(kListPageBytes);
}

// A node may be destroyed at any moment: lists are emptied before their pools.
Framework::~Framework() {
  stop_timer();
  if (session_ != nullptr) old_.push_back(*session_);
  while (Session* const session = old_.pop_front()) {
    while (Batch* const batch = session->batches.pop_front()) {
      while (TestInstance* const test = batch->tests.pop_front()) {
        client_.forget(*test);
        while (test->units.pop_front() != nullptr) {
        }
      }
    }
  }
}

std::size_t Framework::memory_bytes(const FrameworkSetup& setup) {
  return Requester::memory_bytes(setup.units) +
         (kServices * setup.buffers + setup.rpcs) * kMessageSlotBytes + setup.sink_bytes +
         setup.rpcs * kListPageBytes;
}

void Framework::close() {
  stop_timer();
  deactivate();
  responder_.close();
}

bool Framework::closed() const {
  return responder_.closed() && session_ == nullptr && old_.empty();
}

unsigned Framework::poll(Instant now) {
  now_ = now;
  client_.begin_turn(now);
  // In this order: finished RPCs make room for due ones.
  unsigned work = requester_.poll();
  work += responder_.poll(now);
  work += client_.poll();
  reap();
  return work;
}

bool Framework::has_work() const {
  return requester_.has_work() || responder_.has_work();
}

bool Framework::set_pace(const Pace& pace) {
  PLNET_CHECK(is_pace(pace.rate), "the caller has checked the pace");
  if (session_ == nullptr) return false;
  client_.set_pace(pace);
  return true;
}

// --- Requests ---

// Every request of its console keeps the session alive, whatever the request is.
void Framework::on_request(ServerRpc& rpc) {
  stop_timer();
  dispatch(rpc);
  start_timer();
}

void Framework::on_end(ServerRpc& rpc) {
  if (rpc.context != nullptr) pages_.give(static_cast<WorkMemory*>(rpc.context));
}

Status Framework::judge_features(const ServerRpc& rpc) const {
  const std::uint32_t features = rpc.header().header.features;
  if (rpc.service() == Service::kMakeSession || rpc.service() == Service::kDebug)
    return (features & ~kFeaturesKnown) != 0 ? Status::kProtocol : Status::kOk;
  if (session_ != nullptr && session_->features != features) return Status::kProtocol;
  return Status::kOk;
}

void Framework::dispatch(ServerRpc& rpc) {
  const Status features = judge_features(rpc);
  const bool good = features == Status::kOk;
  switch (rpc.service()) {
    case Service::kMakeSession:
      return answer(
          rpc, good ? make_session(rpc.request<MakeSessionRequest>(), rpc.header().header.features)
                    : MakeSessionReply{.status = features});
    case Service::kRemoveSession:
      return answer(rpc, good ? remove_session(rpc.request<RemoveSessionRequest>())
                              : RemoveSessionReply{.status = features});
    case Service::kDebug: return answer(rpc, good ? debug() : DebugReply{.status = features});
    case Service::kStat:
      return answer(rpc, good ? stat(rpc.request<StatRequest>()) : StatReply{.status = features});
    case Service::kTest: return good ? add_test(rpc) : answer(rpc, TestReply{.status = features});
    case Service::kBatch:
      return good ? control_batch(rpc) : answer(rpc, BatchReply{.status = features});
    // JOIN is for consoles: a node has no session to join.
    default: return responder_.reply(rpc, kFeaturesKnown, JoinReply{.status = Status::kNoSession});
  }
}

bool Framework::is_current(const SessionId& id) const {
  return session_ != nullptr && session_->id == id;
}

MakeSessionReply Framework::make_session(const MakeSessionRequest& request,
                                         std::uint32_t features) {
  if (request.session.is_none()) return {.status = Status::kInvalid};
  if (session_ != nullptr) {
    if (is_current(request.session)) {
      ++session_->references;
      return {.timeout_s = session_->timeout_s};
    }
    // The name of the present session is only sent to a console that it blocks.
    if (request.force == 0) {
      return {.status = Status::kBusy, .timeout_s = session_->timeout_s, .name = session_->name};
    }
  }
  Session* const made = sessions_.take();
  if (made == nullptr) return {.status = Status::kNoMemory};
  deactivate();
  made->id = request.session;
  made->features = features;
  made->name = name_from(text_of(request.name));  // the bytes after its end may be anything
  made->timeout_s = setup_.session_timeout_s;
  made->references = 1;
  made->started = now_;
  made->brw_errors = made->ping_errors = 0;
  made->active_batches = 0;
  session_ = made;
  return {.timeout_s = made->timeout_s};
}

RemoveSessionReply Framework::remove_session(const RemoveSessionRequest& request) {
  if (request.session.is_none()) return {.status = Status::kInvalid};
  if (session_ == nullptr) return {.status = Status::kNoSession};
  if (!is_current(request.session)) return {.status = Status::kBusy};
  if (--session_->references == 0) deactivate();
  return {};
}

DebugReply Framework::debug() const {
  if (session_ == nullptr) return {.status = Status::kNoSession};
  return {.timeout_s = session_->timeout_s, .name = session_->name};
}

StatReply Framework::stat(const StatRequest& request) const {
  if (request.session.is_none()) return {.status = Status::kInvalid};
  if (!is_current(request.session)) return {.status = Status::kNoSession};
  using std::chrono::milliseconds;
  const auto running = std::chrono::duration_cast<milliseconds>(now_ - session_->started);
  StatReply reply;
  reply.framework = {.running_ms = static_cast<std::uint32_t>(running.count()),
                     .active_batches = session_->active_batches,
                     .zombie_sessions = static_cast<std::uint32_t>(zombies_),
                     .brw_errors = session_->brw_errors,
                     .ping_errors = session_->ping_errors};
  add_to(reply.rpc, statistics_);
  for (const RpcStatistics* const server : servers_)
    add_to(reply.rpc, *server);
  reply.lnet = lnet_.read();
  return reply;
}

// --- The end of sessions ---

void Framework::start_timer() {
  if (session_ == nullptr || session_->timeout_s == 0) return;
  timers_.start(session_timer_, now_ + std::chrono::seconds(session_->timeout_s));
}

void Framework::on_session_timeout(Timer& /*timer*/, Instant now) {
  now_ = now;
  deactivate();
}

void Framework::deactivate() {
  Session* const old = session_;
  if (old == nullptr) return;
  session_ = nullptr;
  old_.push_back(*old);
  client_.set_pace({});
  ++zombies_;
  ended_.count.fetch_add(1, std::memory_order_release);
  old->batches.for_each([this](Batch& batch) { stop(batch, true); });
}

void Framework::reap() {
  old_.for_each([this](Session& session) {
    if (session.active_batches == 0) destroy(session);
  });
}

void Framework::destroy(Session& session) {
  while (Batch* const batch = session.batches.pop_front()) {
    while (TestInstance* const test = batch->tests.pop_front())
      destroy(*test);
    batches_.give(batch);
  }
  session.unlink();
  --zombies_;
  sessions_.give(&session);
}

void Framework::destroy(TestInstance& test) {
  while (TestUnit* const unit = test.units.pop_front()) {
    requester_.give(*unit->rpc);
    units_.give(unit);
  }
  sinks_.give(test.memory);
  test.memory = {};
  tests_.give(&test);
}

}  // namespace plnet::selftest

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/test_server.hpp"

#include <array>

namespace plnet::selftest {

namespace {

constexpr Duration kSinkLookInterval = std::chrono::milliseconds(100);

// The answers of a 2.15 kernel; later ones crash on some of these requests.
Status judge(const BrwRequest& request, std::uint32_t features) {
  if (request.operation != BulkOperation::kRead && request.operation != BulkOperation::kWrite)
    return Status::kInvalid;
  if (request.check < Check::kNone || request.check > Check::kDiscard) return Status::kInvalid;
  if ((features & ~kFeaturesKnown) != 0) return Status::kProtocol;
  if (request.length == 0 || request.length > kBulkBytesMax) return Status::kInvalid;
  if ((features & kFeatureBulkLength) == 0 && request.length % kPageBytes != 0)
    return Status::kInvalid;
  return is_whole_words(request.length) ? Status::kOk : Status::kInvalid;
}

bool knows_features(const ServerRpc& rpc) {
  return (rpc.header().header.features & ~kFeaturesKnown) == 0;
}

// The features of the client, or those that it may use (lustre-release lnet/selftest/ping_test.c:
// ping_server_handle(), brw_test.c: brw_server_handle()).
std::uint32_t features_told(const ServerRpc& rpc) {
  return knows_features(rpc) ? rpc.header().header.features : kFeaturesKnown;
}

std::array<ServedService, 2> test_services(RequestHandler& handler, std::size_t buffers) {
  return {ServedService{Service::kBrw, &handler, buffers},
          ServedService{Service::kPing, &handler, buffers}};
}

}  // namespace

TestServer::TestServer(lnet::DataOperations& operations, const EndedSessions& ended,
                       const SourceData& source, RpcStatistics& statistics,
                       const TestServerSetup& setup, WorkMemory& memory)
    : ended_(ended),
      ended_seen_(ended.count.load(std::memory_order_acquire)),
      source_(source),
      statistics_(statistics),
      sinks_(setup.sinks),
      responder_(operations, statistics,
                 {.services = test_services(*this, setup.buffers), .rpcs = setup.rpcs}, memory),
      shares_(setup.sinks, setup.rpcs) {
  for (std::uint32_t i = 0; i < sinks_.capacity(); ++i)
    sinks_.at(i) = memory.split(kBulkBytesMax);
}

std::size_t TestServer::memory_bytes(const TestServerSetup& setup) {
  return (2 * setup.buffers + setup.rpcs) * kMessageSlotBytes + setup.sinks * kBulkBytesMax;
}

unsigned TestServer::poll(Instant now) {
  const std::uint32_t ended = ended_.count.load(std::memory_order_acquire);
  if (ended != ended_seen_) {
    ended_seen_ = ended;
    responder_.abort_all(Service::kBrw);
    responder_.abort_all(Service::kPing);
  }
  if (shares_.any_waits() && now >= look_at_) {
    look_at_ = now + kSinkLookInterval;
    if (const auto greediest = shares_.greediest()) responder_.end_stalled(*greediest, true);
  }
  return responder_.poll(now);
}

void TestServer::on_request(ServerRpc& rpc) {
  if (rpc.service() == Service::kPing) return answer_ping(rpc);
  begin_brw(rpc);
}

void TestServer::answer_ping(ServerRpc& rpc) {
  const auto request = rpc.request<PingRequest>();
  if (request.magic != kPingMagic) return responder_.drop(rpc);
  PingReply reply{.sequence = request.sequence};
  if (!knows_features(rpc)) reply.status = Status::kProtocol;
  responder_.reply(rpc, features_told(rpc), reply);
}

void TestServer::begin_brw(ServerRpc& rpc) {
  const auto request = rpc.request<BrwRequest>();
  const Status status = judge(request, rpc.header().header.features);
  if (status != Status::kOk) return answer_brw(rpc, status);
  if (request.operation == BulkOperation::kRead)
    return responder_.push(rpc, request.bulk_id, source_.first(request.length));
  if (!shares_.take(rpc.peer().nid)) return shares_.wait(rpc.peer().nid, rpc);
  pull_into(*sinks_.take(), rpc);
}

void TestServer::pull_into(WorkMemory& sink, ServerRpc& rpc) {
  const auto request = rpc.request<BrwRequest>();
  rpc.context = &sink;
  fill_data(sink.bytes.first(request.length), request.check, 0, kDataPoison);
  responder_.pull(rpc, request.bulk_id, {sink.at, request.length});
}

void TestServer::on_bulk(ServerRpc& rpc) {
  if (rpc.context == nullptr) return answer_brw(rpc, Status::kOk);  // READ
  const auto request = rpc.request<BrwRequest>();
  const auto data = static_cast<const WorkMemory*>(rpc.context)->bytes.first(request.length);
  const auto wrong = first_wrong_word(data, request.check, 0, magic_of(rpc.header().swapped));
  answer_brw(rpc, wrong ? Status::kBadMessage : Status::kOk);
}

void TestServer::answer_brw(ServerRpc& rpc, Status status) {
  responder_.reply(rpc, features_told(rpc), BrwReply{status});
}

void TestServer::on_end(ServerRpc& rpc) {
  if (rpc.service() == Service::kPing) return;
  auto* const sink = static_cast<WorkMemory*>(rpc.context);
  if (sink == nullptr) return shares_.settle(rpc.peer().nid);
  sinks_.give(sink);
  shares_.give(rpc.peer().nid);
  while (ServerRpc* const next = shares_.next())
    pull_into(*sinks_.take(), *next);
}

}  // namespace plnet::selftest

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/selftest/load.hpp"

#include <chrono>

namespace plnet::bench {

using selftest::BulkOperation;
using selftest::Service;
using selftest::TestUnit;

ClientLoad::ClientLoad(lnet::DataOperations& operations, const lnet::ProcessId& server,
                       const LoadShape& shape, selftest::WorkMemory& memory, Instant start)
    : timers_(start, std::chrono::milliseconds(100)),
      source_(memory),
      requester_(operations, timers_, ids_, statistics_, shape.concurrency, memory),
      client_(requester_, source_, *this, selftest::kRpcTimeout, &latency_),
      units_(shape.concurrency) {
  session_.features = selftest::kFeaturesKnown;
  batch_.session = &session_;
  test_.batch = &batch_;
  test_.service = shape.service;
  test_.is_client = test_.stop_on_error = true;
  test_.loop = ~0U;
  test_.bulk = shape.bulk;
  const bool reads = shape.service == Service::kBrw && shape.bulk.operation == BulkOperation::kRead;
  for (TestUnit& unit : units_) {
    unit.test = &test_;
    unit.destination = server;
    unit.rpc = requester_.take(client_, &unit);
    if (reads) unit.sink = memory.split(shape.bulk.length);
    test_.units.push_back(unit);
  }
}

ClientLoad::~ClientLoad() {
  while (!test_.units.empty())
    (void)test_.units.pop_front();
}

unsigned ClientLoad::poll(Instant now) {
  const unsigned fired = timers_.advance(now);
  client_.begin_turn(now);
  return fired + requester_.poll();
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// Tests and batches of the framework.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "lib/lnet/wire/process_id_codec.hpp"
#include "lib/selftest/framework.hpp"

namespace plnet::selftest {

namespace {

constexpr std::uint32_t kDestinationsMax = 87'296;  // limit of a console's naming
constexpr std::uint32_t kFrameworkServices = 10;    // larger ids are tests

std::uint32_t pages_for(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + kPageBytes - 1) / kPageBytes);
}

// Nothing: no kernel node can run this test. Some of these requests crash kernel nodes.
std::optional<BulkSetup> bulk_of(const TestParameters& parameters) {
  BulkSetup bulk;
  std::uint64_t length = 0;
  if (const auto* const v0 = std::get_if<BulkParametersV0>(&parameters)) {
    bulk.operation = static_cast<BulkOperation>(v0->operation);
    bulk.check = static_cast<Check>(v0->check);
    length = std::uint64_t{v0->pages} * kPageBytes;
  } else if (const auto* const v1 = std::get_if<BulkParametersV1>(&parameters)) {
    bulk.operation = static_cast<BulkOperation>(v1->operation);
    bulk.check = static_cast<Check>(v1->check);
    bulk.offset = v1->offset % kPageBytes;
    length = v1->length;
  }
  if (bulk.operation != BulkOperation::kRead && bulk.operation != BulkOperation::kWrite) return {};
  if (bulk.check < Check::kNone || bulk.check > Check::kDiscard) return {};
  if (length == 0 || length > kBulkBytesMax) return {};
  if (!is_whole_words(length) || !is_whole_words(bulk.offset)) return {};
  if (pages_for(bulk.offset + length) > pages_for(length)) return {};
  bulk.length = static_cast<std::uint32_t>(length);
  return bulk;
}

// The list is in the console's byte order, like the request.
lnet::ProcessId destination(std::span<const std::byte> list, std::uint32_t index, bool swapped) {
  std::array<std::byte, lnet::kProcessIdBytes> bytes{};
  std::memcpy(bytes.data(), list.data() + destination_offset(index), bytes.size());
  if (swapped) {
    std::reverse(bytes.begin(), bytes.begin() + 8);
    std::reverse(bytes.begin() + 8, bytes.end());
  }
  return lnet::decode_process_id(bytes);
}

}  // namespace

Batch* Framework::batch_of(std::uint64_t id, bool make) {
  Batch* found = nullptr;
  session_->batches.for_each([&](Batch& batch) {
    if (batch.id == id) found = &batch;
  });
  if (found != nullptr || !make) return found;
  found = batches_.take();
  if (found == nullptr) return nullptr;
  found->session = session_;
  found->id = id;
  found->active_tests = 0;
  session_->batches.push_back(*found);
  return found;
}

// --- TEST ---

void Framework::add_test(ServerRpc& rpc) {
  const auto request = rpc.request<TestRequest>();
  const Status status = judge_test(request);
  if (status != Status::kOk) return answer(rpc, TestReply{.status = status});
  if (request.is_client == 0)
    return answer(rpc, TestReply{.status = make_test(request, {}, false)});
  WorkMemory* const page = pages_.take();
  PLNET_CHECK(page != nullptr, "there are as many as RPCs");
  rpc.context = page;
  const bool whole = (rpc.header().header.features & kFeatureBulkLength) == 0;
  const std::uint32_t length = whole ? kListPageBytes : request.destinations * kDestinationBytes;
  responder_.pull(rpc, request.bulk_id, {page->at, length});
}

// The session may have ended during the transfer of the list.
void Framework::on_bulk(ServerRpc& rpc) {
  stop_timer();
  const auto request = rpc.request<TestRequest>();
  const auto list = static_cast<const WorkMemory*>(rpc.context)->bytes;
  Status status = judge_test(request);
  if (status == Status::kOk && judge_features(rpc) != Status::kOk) status = Status::kProtocol;
  if (rpc.bulk_moved() < request.destinations * kDestinationBytes) status = Status::kInvalid;
  if (status == Status::kOk) status = make_test(request, list, rpc.header().swapped);
  answer(rpc, TestReply{.status = status});
  start_timer();
}

Status Framework::judge_test(const TestRequest& request) const {
  const bool client = request.is_client != 0;
  if (request.loop == 0 || request.concurrency == 0 || request.concurrency > kConcurrencyMax)
    return Status::kInvalid;
  if (request.session.is_none() || request.destinations > kDestinationsMax) return Status::kInvalid;
  if (client && request.destinations == 0) return Status::kInvalid;
  if (static_cast<std::uint32_t>(request.service) <= kFrameworkServices) return Status::kInvalid;
  if (!is_current(request.session)) return Status::kNotFound;
  if (request.service != Service::kBrw && request.service != Service::kPing)
    return Status::kNotFound;
  // Kernel consoles send longer lists with holes, and kernel nodes crash on some of them.
  if (client && request.destinations > kDestinationsPerPage) return Status::kInvalid;
  if (client && request.service == Service::kBrw && !bulk_of(request.parameters))
    return Status::kInvalid;
  bool busy = false;
  session_->batches.for_each([&](const Batch& batch) {
    busy = busy || (batch.id == request.batch && batch.active_tests != 0);
  });
  return busy ? Status::kBusy : Status::kOk;
}

Status Framework::make_test(const TestRequest& request, std::span<const std::byte> list,
                            bool swapped) {
  for (std::uint32_t i = 0; i < request.destinations && request.is_client != 0; ++i) {
    if (!can_be_asked(destination(list, i, swapped))) return Status::kInvalid;
  }
  const std::uint64_t units =
      request.is_client != 0 ? std::uint64_t{request.destinations} * request.concurrency : 0;
  if (tests_.free_count() == 0 || units > units_.free_count() || units > requester_.free_count())
    return Status::kNoMemory;
  Batch* const batch = batch_of(request.batch, true);
  if (batch == nullptr) return Status::kNoMemory;
  TestInstance& test = *tests_.take();
  test.batch = batch;
  test.service = request.service;
  test.is_client = request.is_client != 0;
  test.stop_on_error = request.stop_on_error != 0;
  test.stopping = false;
  test.loop = request.loop;
  test.active_units = 0;
  test.bulk = bulk_of(request.parameters).value_or(BulkSetup{});
  const Status status = test.is_client ? make_units(test, request, list, swapped) : Status::kOk;
  if (status != Status::kOk) {
    tests_.give(&test);
    return status;
  }
  batch->tests.push_back(test);
  return Status::kOk;
}

Status Framework::make_units(TestInstance& test, const TestRequest& request,
                             std::span<const std::byte> list, bool swapped) {
  const bool reads = test.service == Service::kBrw && test.bulk.operation == BulkOperation::kRead;
  const std::size_t count = std::size_t{request.destinations} * request.concurrency;
  WorkMemory rest;
  if (reads) {
    const std::size_t each = (test.bulk.length + kCacheLine - 1) / kCacheLine * kCacheLine;
    test.memory = rest = sinks_.take(count * each);
    if (rest.bytes.empty()) return Status::kNoMemory;
  }
  for (std::uint32_t i = 0; i < request.destinations; ++i) {
    for (std::uint32_t j = 0; j < request.concurrency; ++j) {
      TestUnit& unit = *units_.take();
      unit.test = &test;
      unit.destination = destination(list, i, swapped);
      unit.rpc = requester_.take(client_, &unit);
      unit.active = false;
      if (reads) unit.sink = rest.split(test.bulk.length);
      test.units.push_back(unit);
    }
  }
  return Status::kOk;
}

// --- BATCH ---

void Framework::control_batch(ServerRpc& rpc) {
  const auto request = rpc.request<BatchRequest>();
  if (!is_current(request.session)) return answer(rpc, BatchReply{.status = Status::kNoSession});
  Batch* const batch = batch_of(request.batch, false);
  if (batch == nullptr) return answer(rpc, BatchReply{.status = Status::kNotFound});
  switch (request.operation) {
    case BatchOperation::kRun: run(*batch); return answer(rpc, BatchReply{});
    case BatchOperation::kStop:
      stop(*batch, request.argument != 0);
      return answer(rpc, BatchReply{});
    case BatchOperation::kQuery: return answer(rpc, query(*batch, request.test));
  }
  responder_.drop(rpc);
}

void Framework::run(Batch& batch) {
  if (batch.active_tests != 0) return;
  batch.tests.for_each([&batch](const TestInstance& test) {
    if (test.is_client) ++batch.active_tests;
  });
  if (batch.active_tests == 0) return;
  ++batch.session->active_batches;
  batch.tests.for_each([this](TestInstance& test) {
    if (test.is_client) client_.start(test, now_);
  });
}

void Framework::stop(Batch& batch, bool force) {
  if (batch.active_tests == 0) return;
  batch.tests.for_each([this, force](TestInstance& test) {
    if (test.active_units != 0) client_.stop(test, force);
  });
}

void Framework::on_test_idle(TestInstance& test) {
  Batch& batch = *test.batch;
  PLNET_CHECK(batch.active_tests > 0, "more tests ended than began");
  if (--batch.active_tests == 0) --batch.session->active_batches;
}

BatchReply Framework::query(Batch& batch, std::uint32_t test) {
  if (test == 0) return {.active = batch.active_tests};
  if (static_cast<std::int32_t>(test) < 0) return {.status = Status::kInvalid};
  BatchReply reply{.status = Status::kNotFound};
  std::uint32_t number = 0;
  batch.tests.for_each([&](const TestInstance& each) {
    if (++number == test) reply = {.active = each.active_units};
  });
  return reply;
}

}  // namespace plnet::selftest

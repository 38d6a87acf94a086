// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/test_spec.hpp"

namespace plnet::selftest {

namespace {

constexpr std::uint32_t pages_for(std::uint32_t bytes) {
  return (bytes + kListPageBytes - 1) / kListPageBytes;
}

// Kernels allocate pages for the length alone and write beyond their end.
bool fits(std::uint32_t offset, std::uint32_t length) {
  return offset < kListPageBytes && pages_for(offset + length) <= pages_for(length);
}

Answer<void> judge_brw(const BrwTest& test, std::uint32_t features, bool nodes_know_discard) {
  if (test.operation != BulkOperation::kRead && test.operation != BulkOperation::kWrite)
    return refuse(Refusal::kInvalid, "brw reads or writes");
  if (test.check < Check::kNone || test.check > Check::kDiscard)
    return refuse(Refusal::kInvalid, "check is none, simple, full or discard");
  if (test.check == Check::kDiscard && !nodes_know_discard)
    return refuse(Refusal::kInvalid, "discard crashes kernel nodes that do not know it");
  if (test.length == 0 || test.length > kBulkLengthMax || test.length % kBulkWord != 0)
    return refuse(Refusal::kInvalid, "size is 8 bytes to 1 MiB, a multiple of 8");
  for (const std::uint32_t offset : {test.client_offset, test.server_offset}) {
    if (offset % kBulkWord != 0) return refuse(Refusal::kInvalid, "off is a multiple of 8");
    if (offset != 0 && (features & kFeatureBulkLength) == 0)
      return refuse(Refusal::kInvalid, "nodes of this session know no off");
    if (!fits(offset, test.length))
      return refuse(Refusal::kInvalid, "off and size take more pages than size alone");
  }
  return {};
}

}  // namespace

Answer<void> judge(const AddTest& test, std::uint32_t features) {
  if (test.loop == 0) return refuse(Refusal::kInvalid, "loop is not 0");
  if (test.concurrency == 0 || test.concurrency > kConcurrencyMax)
    return refuse(Refusal::kInvalid, "concurrency is 1 to 1024");
  if (test.distribute == 0 || test.distribute > kConsoleNodesMax)
    return refuse(Refusal::kInvalid, "distribute is 1:1 to 16384:341");
  if (test.span == 0 || test.span > kSpanMax)
    return refuse(Refusal::kInvalid, "a client sends to 1 to 341 servers");
  if (const auto* const brw = std::get_if<BrwTest>(&test.test))
    return judge_brw(*brw, features, test.nodes_know_discard);
  return {};
}

TestParameters parameters_of(const AddTest& test, std::uint32_t features, bool for_client) {
  const auto* const brw = std::get_if<BrwTest>(&test.test);
  if (brw == nullptr) return PingParameters{};
  if ((features & kFeatureBulkLength) == 0)
    return BulkParametersV0{static_cast<std::uint32_t>(brw->operation), pages_for(brw->length),
                            static_cast<std::uint32_t>(brw->check)};
  return BulkParametersV1{static_cast<std::uint16_t>(brw->operation),
                          static_cast<std::uint16_t>(brw->check), brw->length,
                          for_client ? brw->client_offset : brw->server_offset};
}

}  // namespace plnet::selftest

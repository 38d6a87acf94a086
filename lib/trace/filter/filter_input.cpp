// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/filter_input.hpp"

#include <algorithm>
#include <optional>

namespace plnet::trace {

namespace {

class Filler {
 public:
  explicit Filler(FilterInput& input) : input_(input) {}

  template <class From, class To>
  void set(const std::optional<From>& value, To& field, FilterPresence bit) {
    field = static_cast<To>(value.value_or(From{}));
    if (value) input_.present |= bit;
  }

 private:
  FilterInput& input_;
};

void fill_rpc(const Rpc& rpc, const Record& record, FilterInput& input) {
  Filler filler(input);
  filler.set(rpc.opcode(), input.opcode, kHasOpcode);
  filler.set(rpc.type(), input.rpc_type, kHasRpcType);
  filler.set(record.match_bits(), input.xid, kHasXid);
  filler.set(rpc.get(&RpcBodyWire::transaction), input.transaction, kHasTransaction);
  filler.set(rpc.get(&RpcBodyWire::bulk_bits), input.bulk_bits, kHasBulkBits);
  filler.set(rpc.get(&RpcBodyWire::flags), input.body_flags, kHasBodyFlags);
  filler.set(rpc.get(&RpcBodyWire::tag), input.tag, kHasTag);
  filler.set(rpc.get(&RpcBodyWire::project), input.project, kHasProject);
  filler.set(rpc.intent(), input.intent, kHasIntent);
  filler.set(rpc.reint(), input.reint, kHasReint);
  if (rpc.is_request()) {
    filler.set(rpc.get(&RpcBodyWire::status), input.pid, kHasPid);
  } else {
    filler.set(rpc.get(&RpcBodyWire::status), input.status, kHasStatus);
  }
  if ((input.body_flags & kRpcPackIds) != 0 && rpc.get(&RpcBodyWire::gid)) {
    filler.set(rpc.get(&RpcBodyWire::uid), input.uid, kHasIds);
    filler.set(rpc.get(&RpcBodyWire::gid), input.gid, kHasIds);
  }
  if (const auto job = rpc.get(&RpcBodyWire::job)) {
    input.job = *job;
    std::fill(std::ranges::find(input.job, '\0'), input.job.end(), '\0');
    input.present |= kHasJob;
  }
}

}  // namespace

void fill_header(const Record& record, FilterInput& input) {
  input.record = record.header;
  input.present = 0;
  Filler filler(input);
  filler.set(record.portal(), input.portal, kHasPortal);
  filler.set(record.match_bits(), input.match_bits, kHasMatchBits);
  filler.set(record.offset(), input.offset, kHasOffset);
  filler.set(record.sink_length(), input.sink_length, kHasSinkLength);
  filler.set(record.header_data(), input.header_data, kHasHeaderData);
}

void fill_content(const Message& message, FilterInput& input) {
  if (const Rpc* const rpc = message.rpc()) fill_rpc(*rpc, message.record, input);
  if (const SelftestMessage* const selftest = message.selftest()) {
    Filler filler(input);
    filler.set(std::optional(selftest->type), input.selftest_type, kHasSelftestType);
    filler.set(selftest->status, input.status, kHasStatus);
  }
}

}  // namespace plnet::trace

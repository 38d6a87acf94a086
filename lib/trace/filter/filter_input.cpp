// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/filter_input.hpp"

#include <algorithm>
#include <cstring>
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
  fill_type_area(static_cast<lnet::MessageType>(record.header.type), record.header.type_area,
                 input);
}

// Hot on a node: fields are read in place.
void fill_type_area(lnet::MessageType type, const std::array<std::byte, lnet::kTypeAreaBytes>& area,
                    FilterInput& input) {
  input.present = 0;
  input.portal = input.offset = input.sink_length = 0;
  input.match_bits = input.header_data = 0;
  switch (type) {
    case lnet::MessageType::kPut: {
      const auto& put = *reinterpret_cast<const lnet::PutArea*>(area.data());
      input.portal = put.portal;
      input.match_bits = put.match_bits;
      input.offset = put.offset;
      input.header_data = put.header_data;
      input.present = kHasPortal | kHasMatchBits | kHasOffset | kHasHeaderData;
      break;
    }
    case lnet::MessageType::kGet: {
      const auto& get = *reinterpret_cast<const lnet::GetArea*>(area.data());
      input.portal = get.portal;
      input.match_bits = get.match_bits;
      input.offset = get.source_offset;
      input.sink_length = get.sink_length;
      input.present = kHasPortal | kHasMatchBits | kHasOffset | kHasSinkLength;
      break;
    }
    case lnet::MessageType::kAck: {
      const auto& ack = *reinterpret_cast<const lnet::AckArea*>(area.data());
      input.match_bits = ack.match_bits;
      input.present = kHasMatchBits;
      break;
    }
    default: break;
  }
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

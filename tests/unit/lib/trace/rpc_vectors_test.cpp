// SPDX-License-Identifier: BSD-3-Clause
// Lustre RPCs: the golden vectors field by field, cut short anywhere, in either byte order.
#include <string>

#include <gtest/gtest.h>

#include "lib/trace/decode/rpc.hpp"
#include "lib/trace/decode/rpc_names.hpp"
#include "tests/unit/lib/trace/records.hpp"

namespace plnet::trace::rpc_vectors_test {
namespace {

using lnet::vectors::bytes_of;
using lnet::vectors::number;
using records::Bytes;
using records::Json;

const Json& all() {
  static const Json kAll = lnet::vectors::load("ptlrpc");
  return kAll;
}

template <class Wire, class Field>
void expect(const Captured<Wire>& captured, Field Wire::* member, const Json& vector,
            const std::string& field) {
  const auto value = captured.get(member);
  ASSERT_TRUE(value.has_value()) << vector["name"] << field;
  const Json& fields = vector["fields"];
  if (fields.contains(field) && fields[field].is_number_integer() && fields[field] < 0) {
    EXPECT_EQ(static_cast<std::int64_t>(*value), fields[field].get<std::int64_t>());
    return;
  }
  EXPECT_EQ(*value, static_cast<Field>(number(vector, field))) << vector["name"] << field;
}

void expect_body(const Captured<RpcBodyWire>& body, const Json& vector, const std::string& at) {
  expect(body, &RpcBodyWire::handle, vector, at + "handle");
  expect(body, &RpcBodyWire::type, vector, at + "type");
  expect(body, &RpcBodyWire::version, vector, at + "version");
  expect(body, &RpcBodyWire::opcode, vector, at + "opc");
  expect(body, &RpcBodyWire::status, vector, at + "status");
  expect(body, &RpcBodyWire::last_xid, vector, at + "last_xid");
  expect(body, &RpcBodyWire::tag, vector, at + "tag");
  expect(body, &RpcBodyWire::project, vector, at + "projid");
  expect(body, &RpcBodyWire::last_committed, vector, at + "last_committed");
  expect(body, &RpcBodyWire::transaction, vector, at + "transno");
  expect(body, &RpcBodyWire::flags, vector, at + "flags");
  expect(body, &RpcBodyWire::connect_flags, vector, at + "op_flags");
  expect(body, &RpcBodyWire::connections, vector, at + "conn_cnt");
  expect(body, &RpcBodyWire::timeout_s, vector, at + "timeout");
  expect(body, &RpcBodyWire::service_time_s, vector, at + "service_time");
  expect(body, &RpcBodyWire::limit, vector, at + "limit");
  expect(body, &RpcBodyWire::lock_volume, vector, at + "slv");
  expect(body, &RpcBodyWire::bulk_bits, vector, at + "mbits");
  expect(body, &RpcBodyWire::uid, vector, at + "uid");
  expect(body, &RpcBodyWire::gid, vector, at + "gid");
  const auto versions = body.get(&RpcBodyWire::versions_before).value();
  for (std::size_t i = 0; i < versions.size(); ++i)
    EXPECT_EQ(versions[i], number(vector, at + "pre_versions[" + std::to_string(i) + "]"));
}

TEST(TraceRpcVectors, EveryStructure) {
  std::size_t seen = 0;
  for (const Json& vector : all()) {
    const auto structure = vector["struct"].get<std::string>();
    const Bytes bytes = bytes_of(vector);
    ++seen;
    if (structure.starts_with("lustre_msg_v2.")) {
      const Captured<RpcMessageWire> message(bytes, false);
      expect(message, &RpcMessageWire::buffer_count, vector, "bufcount");
      expect(message, &RpcMessageWire::flavor, vector, "secflvr");
      expect(message, &RpcMessageWire::magic, vector, "magic");
      expect(message, &RpcMessageWire::reply_size, vector, "repsize");
      expect(message, &RpcMessageWire::checksum, vector, "cksum");
      expect(message, &RpcMessageWire::flags, vector, "flags");
      expect(message, &RpcMessageWire::opcode, vector, "opc");
    } else if (structure.starts_with("ptlrpc_body_v")) {
      const Captured<RpcBodyWire> body(bytes, false);
      expect_body(body, vector, "");
      EXPECT_EQ(body.get(&RpcBodyWire::job).has_value(), structure == "ptlrpc_body_v3");
    } else if (structure == "ldlm_request") {
      const std::span<const std::byte> all_of_it = bytes;
      const Captured<LockDescriptorWire> lock(all_of_it.subspan(kLockRequestDescriptor), false);
      expect(lock, &LockDescriptorWire::type, vector, "resource.type");
      expect(lock, &LockDescriptorWire::wanted_mode, vector, "req_mode");
      expect(lock, &LockDescriptorWire::granted_mode, vector, "granted_mode");
      EXPECT_EQ(lock.get(&LockDescriptorWire::policy).value()[1],
                number(vector, "policy.extent.end"));
      EXPECT_EQ(lock.get(&LockDescriptorWire::resource).value()[3],
                number(vector, "resource.name[3]"));
      EXPECT_EQ(number_at<std::uint64_t>(bytes, kLockRequestHandles, false),
                number(vector, "handle[0]"));
    } else if (structure == "ldlm_reply") {
      EXPECT_EQ(number_at<std::uint64_t>(bytes, kLockReplyResult1, false),
                number(vector, "policy_res1"));
    } else if (structure == "obd_ioobj") {
      const Captured<IoObjectWire> object(bytes, false);
      expect(object, &IoObjectWire::id_low, vector, "id.lo");
      expect(object, &IoObjectWire::id_high, vector, "id.hi");
      expect(object, &IoObjectWire::descriptors, vector, "max_brw");
      expect(object, &IoObjectWire::buffers, vector, "bufcnt");
    } else if (structure == "niobuf_remote") {
      const Captured<RemoteBufferWire> buffer(bytes, false);
      expect(buffer, &RemoteBufferWire::offset, vector, "offset");
      expect(buffer, &RemoteBufferWire::length, vector, "len");
      expect(buffer, &RemoteBufferWire::flags, vector, "flags");
    } else {
      --seen;
    }
  }
  EXPECT_GT(seen, 120U);
}

TEST(TraceRpcVectors, WholeRequests) {
  std::size_t seen = 0;
  for (const Json& vector : all()) {
    if (!vector["struct"].get<std::string>().starts_with("request.")) continue;
    const Bytes bytes = bytes_of(vector);
    const auto rpc = Rpc::parse(bytes);
    ASSERT_TRUE(rpc.has_value()) << vector["name"];
    EXPECT_EQ(rpc->swapped(), vector["name"].get<std::string>().starts_with("opposite-order"));
    EXPECT_EQ(rpc->buffer_count(), number(vector, "bufcount"));
    for (std::uint32_t i = 0; i < rpc->buffer_count(); ++i) {
      EXPECT_EQ(rpc->buffer_length(i), number(vector, "buflens[" + std::to_string(i) + "]"));
      EXPECT_EQ(rpc->buffer(i).size(), rpc->buffer_length(i));
    }
    expect_body(rpc->body(), vector, "body.");
    ++seen;
  }
  EXPECT_GT(seen, 10U);
}

TEST(TraceRpcVectors, BulkMatchBits) {
  for (const Json& vector : all()) {
    if (vector["struct"] != "bulk_match_bits") continue;
    EXPECT_EQ(rpc_group(number(vector, "first")), number(vector, "xid_group"));
    EXPECT_EQ(rpc_group(number(vector, "last")), number(vector, "xid_group"));
  }
}

Rpc parse(const Bytes& bytes) {
  return Rpc::parse(bytes).value();
}

TEST(TraceRpc, ReadsJobs) {
  const Bytes ping = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  EXPECT_EQ(parse(ping).job(), "cp.1000");
  const Bytes swapped = records::payload_of("ptlrpc", "opposite-order/request.1/real/obd-ping");
  EXPECT_EQ(parse(swapped).job(), "cp.1000");
  const Bytes reply = records::payload_of("ptlrpc", "request.1/real/obd-ping-reply");
  EXPECT_EQ(parse(reply).job(), "");
}

TEST(TraceRpc, ReadsBulk) {
  const Bytes read = records::payload_of("ptlrpc", "request.4/real/ost-read-4m");
  const auto bulk = parse(read).bulk().value();
  EXPECT_EQ(bulk.descriptors, 4U);
  EXPECT_EQ(bulk.bytes, 4U << 20U);
  EXPECT_EQ(bulk.buffers, 1U);
  EXPECT_EQ(bulk.object.get(&IoObjectWire::id_low), 0x1234U);
  EXPECT_EQ(bulk.first.get(&RemoteBufferWire::offset), 0x100000U);
  EXPECT_FALSE(parse(read).lock().has_value());
}

TEST(TraceRpc, ReadsIntentsAndReints) {
  const Bytes enqueue = records::payload_of("ptlrpc", "request.5/real/ldlm-enqueue-intent-5-bufs");
  const Rpc rpc = parse(enqueue);
  EXPECT_TRUE(rpc.intent().has_value());
  EXPECT_TRUE(rpc.lock().has_value());
  const Bytes setattr = records::payload_of("ptlrpc", "request.2/real/mds-reint-setattr");
  EXPECT_EQ(parse(setattr).reint(), 1U);
  const Bytes cancel = records::payload_of("ptlrpc", "request.2/real/ldlm-cancel");
  EXPECT_FALSE(parse(cancel).intent().has_value());
  EXPECT_TRUE(parse(cancel).lock().has_value());
}

TEST(TraceRpc, KnowsEarlyReplies) {
  const Bytes early = records::payload_of("ptlrpc", "request.1/cksum/early-reply");
  EXPECT_TRUE(parse(early).is_early_reply(0));
  EXPECT_FALSE(parse(early).is_early_reply(224));
  EXPECT_EQ(parse(early).checksum_is_right(), true);
  const Bytes reply = records::payload_of("ptlrpc", "request.1/real/obd-ping-reply");
  EXPECT_FALSE(parse(reply).is_early_reply(0));
}

TEST(TraceRpc, ReadsWithinPlainFlavor) {
  Bytes outer = records::payload_of("ptlrpc", "lustre_msg_v2.4/real/plain-4-bufs");
  outer.resize(outer.size() + 16);
  const Bytes ping = records::payload_of("ptlrpc", "request.1/real/obd-ping");
  outer.insert(outer.end(), ping.begin(), ping.end());
  const Rpc rpc = parse(outer);
  EXPECT_FALSE(rpc.is_opaque());
  EXPECT_EQ(rpc.flavor(), kFlavorPlain);
  EXPECT_EQ(rpc.opcode(), 400U);
  EXPECT_EQ(rpc.job(), "cp.1000");
}

// Captures cut at any length: every value that is read equals that of the whole.
TEST(TraceRpc, AnyLengthGivesNoOtherValues) {
  for (const Json& vector : all()) {
    if (!vector["struct"].get<std::string>().starts_with("request.")) continue;
    const Bytes bytes = bytes_of(vector);
    const Rpc whole = parse(bytes);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const Bytes copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      const auto part = Rpc::parse(copy);
      EXPECT_EQ(part.has_value(), length >= 12);
      if (!part) continue;
      const auto same_or_none = [](const auto& some, const auto& all_of_it) {
        return !some.has_value() || some == all_of_it;
      };
      EXPECT_TRUE(same_or_none(part->opcode(), whole.opcode()));
      EXPECT_TRUE(same_or_none(part->job(), whole.job()));
      EXPECT_TRUE(same_or_none(part->intent(), whole.intent()));
      EXPECT_TRUE(same_or_none(part->reint(), whole.reint()));
      const auto bulk = part->bulk();
      EXPECT_TRUE(!bulk || bulk->bytes <= whole.bulk()->bytes);
      const auto lock = part->lock();
      EXPECT_TRUE(!lock || same_or_none(lock->handle, whole.lock()->handle));
    }
  }
}

TEST(TraceRpcNames, LookUpBothWays) {
  EXPECT_EQ(name_in(rpc_names::opcodes(), 3), "OST_READ");
  EXPECT_EQ(name_in(rpc_names::opcodes(), 14), "");
  EXPECT_EQ(number_in(rpc_names::opcodes(), "ost_read"), 3U);
  EXPECT_EQ(name_or_number(rpc_names::opcodes(), 9999), "9999");
  EXPECT_EQ(flag_names(rpc_names::intents(), 0x20003), "OPEN|CREAT|0x20000");
  for (const NameTable table : {rpc_names::opcodes(), rpc_names::reints(), rpc_names::intents(),
                                rpc_names::updates(), portal_names()}) {
    EXPECT_TRUE(std::ranges::is_sorted(table, {}, &NamedNumber::number));
    for (const NamedNumber& entry : table)
      EXPECT_EQ(number_in(table, name_in(table, entry.number)), entry.number);
  }
  EXPECT_EQ(parse_portal("mds_request_portal"), 12U);
  EXPECT_EQ(parse_portal("OST_IO"), 6U);
  EXPECT_FALSE(parse_portal("_PORTAL").has_value());
}

}  // namespace
}  // namespace plnet::trace::rpc_vectors_test

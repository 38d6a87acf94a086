// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/json.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/decode/rpc_names.hpp"
#include "lib/trace/show/format.hpp"
#include "lib/trace/show/words.hpp"

namespace plnet::trace {

namespace {

using Json = nlohmann::ordered_json;

template <class Value>
void put(Json& json, const char* key, const std::optional<Value>& value) {
  if (value) json[key] = *value;
}
void put_hex(Json& json, const char* key, const std::optional<std::uint64_t>& value) {
  if (value) json[key] = hex_text(*value);
}
template <class Value>
void put_name(Json& json, const char* key, NameTable table, const std::optional<Value>& value) {
  if (value) json[key] = name_or_number(table, *value);
}
template <class Value>
void put_flags(Json& json, const char* key, NameTable table, const std::optional<Value>& value) {
  if (value.value_or(0) != 0) json[key] = flag_names(table, *value);
}

Json json_of_lock(const LockFields& lock) {
  Json json;
  const auto& descriptor = lock.descriptor;
  const auto type = descriptor.get(&LockDescriptorWire::type);
  put_name(json, "type", rpc_names::lock_types(), type);
  if (const auto resource = descriptor.get(&LockDescriptorWire::resource)) {
    json["resource"] = fmt::format("{:#x}:{:#x}:{:#x}:{:#x}", (*resource)[0], (*resource)[1],
                                   (*resource)[2], (*resource)[3]);
  }
  put_flags(json, "mode", rpc_names::lock_modes(),
            descriptor.get(&LockDescriptorWire::wanted_mode));
  put_flags(json, "granted", rpc_names::lock_modes(),
            descriptor.get(&LockDescriptorWire::granted_mode));
  const auto policy = descriptor.get(&LockDescriptorWire::policy);
  if (policy && type == kLockInodeBits) {
    json["bits"] = flag_names(rpc_names::inode_bits(), (*policy)[0]);
  } else if (policy && (type == kLockExtent || type == kLockFlock)) {
    json["start"] = (*policy)[0];
    json["end"] = (*policy)[1];
    json[type == kLockExtent ? "gid" : "owner"] = (*policy)[2];
  }
  put(json, "handles", lock.handles);
  put_hex(json, "handle", lock.handle);
  put_flags(json, "disposition", rpc_names::dispositions(), lock.disposition);
  return json;
}

Json json_of_bulk(const BulkFields& bulk) {
  Json json;
  const auto low = bulk.object.get(&IoObjectWire::id_low);
  const auto high = bulk.object.get(&IoObjectWire::id_high);
  if (low && high) json["object"] = fmt::format("{:#x}:{:#x}", *high, *low);
  json["descriptors"] = bulk.descriptors;
  json["buffers"] = bulk.buffers;
  json["bytes"] = bulk.bytes;
  put(json, "offset", bulk.first.get(&RemoteBufferWire::offset));
  put_hex(json, "flags", bulk.first.get(&RemoteBufferWire::flags));
  if (bulk.short_io_bytes > 0) json["short_io"] = bulk.short_io_bytes;
  return json;
}

void put_operation(Json& json, const Rpc& rpc) {
  put_flags(json, "intent", rpc_names::intents(), rpc.intent());
  put_name(json, "reint", rpc_names::reints(), rpc.reint());
  put_name(json, "fld", rpc_names::fld_operations(), rpc.fld_operation());
  put_name(json, "seq", rpc_names::sequence_operations(), rpc.sequence_operation());
  if (const auto lock = rpc.lock()) json["lock"] = json_of_lock(*lock);
  if (const auto bulk = rpc.bulk()) json["bulk"] = json_of_bulk(*bulk);
  if (const auto updates = rpc.updates()) {
    put(json, "updates", updates->count);
    put_name(json, "first_update", rpc_names::updates(), updates->first_type);
  }
}

Json json_of_rpc(const Message& message, const Rpc& rpc) {
  Json json;
  json["type"] = rpc_type_text(message);
  put_name(json, "opc", rpc_names::opcodes(), rpc.opcode());
  put_hex(json, "xid", message.record.match_bits());
  if (rpc.is_request()) {
    put(json, "pid", rpc.get(&RpcBodyWire::status));
  } else {
    put(json, "status", rpc.get(&RpcBodyWire::status));
  }
  if (const auto job = rpc.job()) json["jobid"] = printable(*job);
  if (const auto version = rpc.get(&RpcBodyWire::version)) {
    json["module"] = name_or_number(rpc_names::version_modules(), *version >> 16U);
  }
  put_hex(json, "handle", rpc.get(&RpcBodyWire::handle));
  put_hex(json, "last_xid", rpc.get(&RpcBodyWire::last_xid));
  put(json, "tag", rpc.get(&RpcBodyWire::tag));
  put(json, "projid", rpc.get(&RpcBodyWire::project));
  put(json, "last_committed", rpc.get(&RpcBodyWire::last_committed));
  put(json, "transno", rpc.get(&RpcBodyWire::transaction));
  put_flags(json, "flags", rpc_names::body_flags(), rpc.get(&RpcBodyWire::flags));
  put_flags(json, "op_flags", rpc_names::connect_flags(), rpc.get(&RpcBodyWire::connect_flags));
  put(json, "conn_cnt", rpc.get(&RpcBodyWire::connections));
  put(json, "timeout", rpc.get(&RpcBodyWire::timeout_s));
  put(json, "service_time", rpc.get(&RpcBodyWire::service_time_s));
  put(json, "limit", rpc.get(&RpcBodyWire::limit));
  put(json, "slv", rpc.get(&RpcBodyWire::lock_volume));
  put_hex(json, "mbits", rpc.get(&RpcBodyWire::bulk_bits));
  if ((rpc.get(&RpcBodyWire::flags).value_or(0) & kRpcPackIds) != 0) {
    put(json, "uid", rpc.get(&RpcBodyWire::uid));
    put(json, "gid", rpc.get(&RpcBodyWire::gid));
  }
  if (message.is_early_reply()) put(json, "checksum_ok", rpc.checksum_is_right());
  if (rpc.flavor() != 0) json["flavor"] = hex_text(rpc.flavor());
  if (rpc.swapped()) json["swapped"] = true;
  put_operation(json, rpc);
  return json;
}

Json json_of_selftest(const SelftestMessage& selftest) {
  Json json;
  json["type"] = name_or_number(rpc_names::selftest_types(), selftest.type);
  put(json, "status", selftest.status);
  put_hex(json, "reply_id", selftest.reply_id);
  put_hex(json, "bulk_id", selftest.bulk_id);
  put(json, "features", selftest.features);
  if (!selftest.whole) return json;
  if (const auto* const brw = std::get_if<selftest::BrwRequest>(&selftest.whole->body)) {
    json["operation"] = std::to_underlying(brw->operation);
    json["length"] = brw->length;
    json["check"] = std::to_underlying(brw->check);
  }
  if (const auto* const test = std::get_if<selftest::TestRequest>(&selftest.whole->body)) {
    json["service"] = std::to_underlying(test->service);
    json["concurrency"] = test->concurrency;
    json["client"] = test->is_client != 0;
  }
  if (const auto* const batch = std::get_if<selftest::BatchRequest>(&selftest.whole->body)) {
    json["batch"] = batch->batch;
    json["operation"] = std::to_underlying(batch->operation);
  }
  if (const auto* const ping = std::get_if<selftest::PingRequest>(&selftest.whole->body)) {
    json["sequence"] = ping->sequence;
  }
  return json;
}

Json json_of_ping(const lnet::PingView& ping) {
  Json json;
  json["sequence"] = ping.sequence();
  json["features"] = hex_text(ping.features());
  json["routes"] = ping.routes();
  json["interfaces"] = Json::array();
  for (auto walk = ping.walk(); const auto entry = walk.next();) {
    const char* const status = entry->status == lnet::kNiUp     ? "up"
                               : entry->status == lnet::kNiDown ? "down"
                                                                : "unknown";
    json["interfaces"].push_back({{"nid", lnet::text_of(entry->nid)}, {"status", status}});
  }
  if (ping.truncated()) json["truncated"] = true;
  return json;
}

void put_header(Json& json, const Sighting& sighting) {
  const Record& record = sighting.message.record;
  const RecordHeader& header = record.header;
  json["number"] = sighting.number;
  json["time"] = text_of_time(header.time_ns);
  json["dir"] = name_of(header.direction);
  if (header.direction == Direction::kDropped)
    json["cause"] = name_or_number(cause_names(), header.cause);
  json["type"] = name_or_number(message_type_names(), header.type);
  json["src"] = lnet::text_of(header.source);
  json["dst"] = lnet::text_of(header.destination);
  json["src_pid"] = header.source_pid;
  json["dst_pid"] = header.destination_pid;
  json["hop"] = lnet::text_of(header.hop);
  if (sighting.interface.type != 0) json["ni"] = lnet::text_of(sighting.interface);
  put_name(json, "portal", portal_names(), sighting.portal());
  put_hex(json, "match_bits", record.match_bits());
  put(json, "offset", record.offset());
  put_hex(json, "hdr_data", record.header_data());
  put(json, "sink", record.sink_length());
  put(json, "accepted", record.accepted_length());
  if (const auto handle = record.handle()) {
    json["handle"] = hex_text(handle->interface_cookie) + "." + hex_text(handle->object_cookie);
  }
  json["len"] = header.payload_length;
  json["captured"] = header.captured;
}

}  // namespace

std::string json_of(const Sighting& sighting) {
  Json json;
  put_header(json, sighting);
  const Message& message = sighting.message;
  if (const Rpc* const rpc = message.rpc()) json["rpc"] = json_of_rpc(message, *rpc);
  if (const auto* const selftest = message.selftest()) {
    json["selftest"] = json_of_selftest(*selftest);
  }
  if (const auto* const ping = message.ping()) json["ping"] = json_of_ping(*ping);
  if (sighting.paired.exchange != nullptr) json["exchange"] = sighting.paired.exchange->number;
  if (sighting.paired.latency_ns) json["latency_ns"] = *sighting.paired.latency_ns;
  // Text from other nodes may be invalid UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plnet::trace

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/field.hpp"

#include <array>
#include <utility>

#include "lib/base/whole_number.hpp"
#include "lib/trace/decode/lnet_names.hpp"
#include "lib/trace/decode/rpc_names.hpp"
#include "lib/trace/filter/filter_input.hpp"

namespace plnet::trace {

namespace {

#define PLNET_AT(member) offsetof(FilterInput, member), sizeof(FilterInput::member)
#define PLNET_IN_RECORD(member) \
  offsetof(FilterInput, record) + offsetof(RecordHeader, member), sizeof(RecordHeader::member)
constexpr std::size_t kSource = offsetof(FilterInput, record) + offsetof(RecordHeader, source);
constexpr std::size_t kTarget = offsetof(FilterInput, record) + offsetof(RecordHeader, destination);
constexpr std::size_t kHop = offsetof(FilterInput, record) + offsetof(RecordHeader, hop);

constexpr auto kNumber = FieldKind::kNumber;
constexpr auto kSigned = FieldKind::kSigned;
constexpr auto kBits = FieldKind::kBits;

constexpr std::array kFields = std::to_array<Field>({
    {"msg_type", "PUT, GET, ACK, REPLY", kNumber, PLNET_IN_RECORD(type), 0, message_type_names},
    {"dir", "RECV, SEND, DROP; with --states also WAIT, GO", kNumber, PLNET_IN_RECORD(direction), 0,
     direction_names},
    {"cause", "why a message was dropped: dropped_hop_down, …", kNumber, PLNET_IN_RECORD(cause), 0,
     cause_names},
    {"len", "bytes of payload", kNumber, PLNET_IN_RECORD(payload_length)},
    {"src_pid", "process id of the source", kNumber, PLNET_IN_RECORD(source_pid)},
    {"dst_pid", "process id of the destination", kNumber, PLNET_IN_RECORD(destination_pid)},
    {"src", "NID range of the source: 10.0.0.0/24@tcp", FieldKind::kNid, kSource, 20},
    {"dst", "NID range of the destination", FieldKind::kNid, kTarget, 20},
    {"hop", "NID range of the neighbour", FieldKind::kNid, kHop, 20},
    {"nid", "NID range of source or destination", FieldKind::kNid, kSource, 20, 0, nullptr,
     kTarget},
    {"net", "network of source or destination: o2ib1", FieldKind::kNet, kSource, 20, 0, nullptr,
     kTarget},
    {"portal", "OST_IO, …", kNumber, PLNET_AT(portal), kHasPortal, portal_names},
    {"match_bits", "match bits", kNumber, PLNET_AT(match_bits), kHasMatchBits},
    {"hdr_data", "header data of a PUT", kNumber, PLNET_AT(header_data), kHasHeaderData},
    {"offset", "offset at the target", kNumber, PLNET_AT(offset), kHasOffset},
    {"sink", "bytes that a GET asks for", kNumber, PLNET_AT(sink_length), kHasSinkLength},
    {"opc", "opcode: OST_READ", kNumber, PLNET_AT(opcode), kHasOpcode, rpc_names::opcodes},
    {"rpc_type", "REQ, REP, ERR", kNumber, PLNET_AT(rpc_type), kHasRpcType, rpc_names::body_types},
    {"status", "status of a reply", kSigned, PLNET_AT(status), kHasStatus},
    {"xid", "xid of an RPC", kNumber, PLNET_AT(xid), kHasXid},
    {"jobid", "job: NAME, or a prefix and *", FieldKind::kJob, PLNET_AT(job), kHasJob},
    {"pid", "process that caused a request", kNumber, PLNET_AT(pid), kHasPid},
    {"reint", "SETATTR, CREATE, …", kNumber, PLNET_AT(reint), kHasReint, rpc_names::reints},
    {"intent", "OPEN|CREAT, GETATTR, …", kBits, PLNET_AT(intent), kHasIntent, rpc_names::intents},
    {"lst_type", "BRW_REQ, …", kNumber, PLNET_AT(selftest_type), kHasSelftestType,
     rpc_names::selftest_types},
    {"transno", "transaction number", kNumber, PLNET_AT(transaction), kHasTransaction},
    {"uid", "user", kNumber, PLNET_AT(uid), kHasIds},
    {"gid", "group", kNumber, PLNET_AT(gid), kHasIds},
    {"projid", "project", kNumber, PLNET_AT(project), kHasProject},
    {"flags", "RESENT, REPLAY, …", kBits, PLNET_AT(body_flags), kHasBodyFlags,
     rpc_names::body_flags},
    {"mbits", "match bits of the bulk transfer", kNumber, PLNET_AT(bulk_bits), kHasBulkBits},
    {"tag", "slot of a modifying request", kNumber, PLNET_AT(tag), kHasTag},
});
#undef PLNET_AT
#undef PLNET_IN_RECORD

constexpr std::array kSynonyms = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"type", "msg_type"},
    {"direction", "dir"},
    {"length", "len"},
    {"less", "len"},
    {"host", "nid"},
    {"source", "src"},
    {"destination", "dst"},
    {"opcode", "opc"},
    {"job", "jobid"},
});

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    return whole_number<std::uint64_t>(text.substr(2), 16);
  }
  if (text.starts_with('-')) {
    const auto number = whole_number<std::int64_t>(text);
    if (!number) return std::nullopt;
    return static_cast<std::uint64_t>(*number);
  }
  return whole_number<std::uint64_t>(text);
}

}  // namespace

bool Field::is_content() const {
  return presence >= kHasOpcode;
}

std::span<const Field> filter_fields() {
  return kFields;
}

const Field* find_filter_field(std::string_view name) {
  for (const auto& [synonym, meant] : kSynonyms) {
    if (same_word(synonym, name)) name = meant;
  }
  for (const Field& field : kFields) {
    if (same_word(field.name, name)) return &field;
  }
  return nullptr;
}

std::optional<std::uint64_t> parse_field_value(const Field& field, std::string_view text) {
  if (field.kind == FieldKind::kBits && text.contains('|')) {
    const std::size_t bar = text.find('|');
    const auto left = parse_field_value(field, text.substr(0, bar));
    const auto right = parse_field_value(field, text.substr(bar + 1));
    if (!left || !right) return std::nullopt;
    return *left | *right;
  }
  if (const auto number = parse_number(text)) return number;
  if (field.names == portal_names) return parse_portal(text);
  if (field.names == nullptr) return std::nullopt;
  return number_in(field.names(), text);
}

}  // namespace plnet::trace

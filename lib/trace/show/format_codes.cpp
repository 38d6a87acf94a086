// SPDX-License-Identifier: BSD-3-Clause
// The text of each code of a format.
#include <array>
#include <optional>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/decode/lnet_names.hpp"
#include "lib/trace/decode/rpc_names.hpp"
#include "lib/trace/show/format.hpp"
#include "lib/trace/show/words.hpp"

namespace plnet::trace {

namespace {

template <class Number>
std::string decimal(const std::optional<Number>& number) {
  return number ? fmt::format("{}", *number) : "-";
}
std::string hex(const std::optional<std::uint64_t>& number) {
  return number ? hex_text(*number) : "-";
}
std::string seconds(std::uint64_t ns) {
  return fmt::format("{}.{:09}", ns / kNsPerSecond, ns % kNsPerSecond);
}

template <auto kMember>
std::string body_number(const Sighting& sighting) {
  const Rpc* const rpc = sighting.message.rpc();
  return rpc == nullptr ? "-" : decimal(rpc->get(kMember));
}
template <auto kMember>
std::string body_id(const Sighting& sighting) {
  const Rpc* const rpc = sighting.message.rpc();
  if (rpc == nullptr) return "-";
  const bool valid = (rpc->get(&RpcBodyWire::flags).value_or(0) & kRpcPackIds) != 0;
  return valid ? decimal(rpc->get(kMember)) : "-";
}
template <auto kMember>
std::string body_hex(const Sighting& sighting) {
  const Rpc* const rpc = sighting.message.rpc();
  return rpc == nullptr ? "-" : hex(rpc->get(kMember));
}
std::string flags_text(NameTable table, const std::optional<std::uint64_t>& flags) {
  if (!flags) return "-";
  return *flags == 0 ? "0" : flag_names(table, *flags);
}

std::string job_text(const Sighting& sighting) {
  const Rpc* const rpc = sighting.message.rpc();
  const auto job = rpc == nullptr ? std::nullopt : rpc->job();
  if (!job) return "-";
  return job->empty() ? "EMPTY" : printable(*job);
}
std::string opcode_text(const Sighting& sighting) {
  const Rpc* const rpc = sighting.message.rpc();
  const auto number = rpc == nullptr ? std::nullopt : rpc->opcode();
  return number ? name_or_number(rpc_names::opcodes(), *number) : "-";
}
std::string intents(const Sighting& sighting) {
  const Rpc* const rpc = sighting.message.rpc();
  return rpc == nullptr ? "-" : flags_text(rpc_names::intents(), rpc->intent());
}
std::string reint_text(const Sighting& sighting) {
  const Rpc* const rpc = sighting.message.rpc();
  const auto number = rpc == nullptr ? std::nullopt : rpc->reint();
  return number ? name_or_number(rpc_names::reints(), *number) : "-";
}
std::string selftest_type(const Sighting& sighting) {
  const SelftestMessage* const selftest = sighting.message.selftest();
  return selftest == nullptr ? "-" : name_or_number(rpc_names::selftest_types(), selftest->type);
}
std::string selftest_ids(const Sighting& sighting) {
  const SelftestMessage* const selftest = sighting.message.selftest();
  if (selftest == nullptr || !selftest->reply_id) return "-";
  if (!selftest->bulk_id) return hex(selftest->reply_id);
  return hex(selftest->reply_id) + "/" + hex(selftest->bulk_id);
}
std::string handle_text(const Sighting& sighting) {
  const auto handle = sighting.message.record.handle();
  if (!handle) return "-";
  return hex_text(handle->interface_cookie) + "." + hex_text(handle->object_cookie);
}
std::string process(const lnet::Nid& nid, std::uint32_t pid) {
  return fmt::format("{}-{}", pid, lnet::text_of(nid));
}

constexpr std::array kCodes = std::to_array<FormatCode>({
    {"c", "number of the message", [](const Sighting& s) { return fmt::format("{}", s.number); }},
    {"t", "time as seconds since 1970",
     [](const Sighting& s) { return seconds(s.record().time_ns); }},
    {"T", "time of day, UTC",
     [](const Sighting& s) { return text_of_time(s.record().time_ns).substr(11, 15); }},
    {"d", "seconds since the message before",
     [](const Sighting& s) {
       const std::uint64_t now = s.record().time_ns;
       return seconds(s.previous_ns == 0 || now < s.previous_ns ? 0 : now - s.previous_ns);
     }},
    {"D", "microseconds from request to reply",
     [](const Sighting& s) {
       const auto& ns = s.paired.latency_ns;
       return ns ? fmt::format("{}.{:03}", *ns / 1000, *ns % 1000) : "-";
     }},
    {"n", "network", [](const Sighting& s) { return lnet::text_of_net(net_of(s.message.record)); }},
    {"i", "local NI",
     [](const Sighting& s) {
       return s.interface.type == 0 ? std::string("-") : lnet::text_of(s.interface);
     }},
    {"LH", "NID of the neighbour",
     [](const Sighting& s) { return lnet::text_of(s.record().hop); }},
    {"Lm", "match bits", [](const Sighting& s) { return hex(s.message.record.match_bits()); }},
    {"Ls", "SEND, RECV, DROP",
     [](const Sighting& s) { return std::string(name_of(s.record().direction)); }},
    {"Lt", "type of the message",
     [](const Sighting& s) { return name_or_number(message_type_names(), s.record().type); }},
    {"LP", "portal",
     [](const Sighting& s) {
       const auto number = s.portal();
       return number ? name_or_number(portal_names(), *number) : "-";
     }},
    {"Lf", "NID of the source", [](const Sighting& s) { return lnet::text_of(s.record().source); }},
    {"Lr", "NID of the destination",
     [](const Sighting& s) { return lnet::text_of(s.record().destination); }},
    {"LF", "process of the source",
     [](const Sighting& s) { return process(s.record().source, s.record().source_pid); }},
    {"LR", "process of the destination",
     [](const Sighting& s) { return process(s.record().destination, s.record().destination_pid); }},
    {"Lp", "number of the portal", [](const Sighting& s) { return decimal(s.portal()); }},
    {"Ll", "bytes of payload",
     [](const Sighting& s) { return fmt::format("{}", s.record().payload_length); }},
    {"Lo", "offset", [](const Sighting& s) { return decimal(s.message.record.offset()); }},
    {"Lk", "bytes that a GET asks for",
     [](const Sighting& s) { return decimal(s.message.record.sink_length()); }},
    {"Lh", "header data", [](const Sighting& s) { return hex(s.message.record.header_data()); }},
    {"Lw", "wire handle", handle_text},
    {"Pj", "job, or EMPTY", job_text},
    {"Po", "opcode", opcode_text},
    {"Px", "xid",
     [](const Sighting& s) {
       return s.message.rpc() == nullptr ? std::string("-") : hex(s.message.record.match_bits());
     }},
    {"PT", "REQ, REP, ERR, EARLY",
     [](const Sighting& s) { return std::string(rpc_type_text(s.message)); }},
    {"PS", "status of a reply",
     [](const Sighting& s) {
       return s.message.rpc() == nullptr ? std::string("-") : decimal(s.message.status());
     }},
    {"Pf", "flags",
     [](const Sighting& s) {
       const Rpc* const rpc = s.message.rpc();
       return rpc == nullptr ? "-"
                             : flags_text(rpc_names::body_flags(), rpc->get(&RpcBodyWire::flags));
     }},
    {"PF", "flags of connections",
     [](const Sighting& s) {
       const Rpc* const rpc = s.message.rpc();
       return rpc == nullptr ? "-"
                             : flags_text(rpc_names::connect_flags(),
                                          rpc->get(&RpcBodyWire::connect_flags));
     }},
    {"Pt", "transaction number", body_number<&RpcBodyWire::transaction>},
    {"Pc", "number of connections", body_number<&RpcBodyWire::connections>},
    {"Pl", "timeout in seconds", body_number<&RpcBodyWire::timeout_s>},
    {"Pu", "user", body_id<&RpcBodyWire::uid>},
    {"Pg", "group", body_id<&RpcBodyWire::gid>},
    {"Pp", "project", body_number<&RpcBodyWire::project>},
    {"Pb", "match bits of bulk", body_hex<&RpcBodyWire::bulk_bits>},
    {"Pi", "intents", intents},
    {"Pr", "operation of a reint", reint_text},
    {"Ss", "type of a selftest message", selftest_type},
    {"St", "status of a selftest reply",
     [](const Sighting& s) {
       const SelftestMessage* const selftest = s.message.selftest();
       return selftest == nullptr ? "-" : decimal(selftest->status);
     }},
    {"Sr", "reply id and bulk id of selftest", selftest_ids},
});

}  // namespace

std::span<const FormatCode> format_codes() {
  return kCodes;
}

}  // namespace plnet::trace

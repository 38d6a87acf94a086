// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/line.hpp"

#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/decode/rpc_names.hpp"
#include "lib/trace/show/format.hpp"
#include "lib/trace/show/words.hpp"

namespace plnet::trace {

namespace {

constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kYellow = "\x1b[33m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string rpc_details(const Message& message, const Rpc& rpc) {
  std::string text = fmt::format(" {} {}", rpc_type_text(message), operation_text(message));
  if (const auto intent = rpc.intent()) text += " " + flag_names(rpc_names::intents(), *intent);
  if (const auto reint = rpc.reint()) text += " " + name_or_number(rpc_names::reints(), *reint);
  if (const auto bulk = rpc.bulk()) {
    text += " " + size_text(bulk->bytes + bulk->short_io_bytes);
    if (const auto offset = bulk->first.get(&RemoteBufferWire::offset)) {
      text += fmt::format(" at {}", *offset);
    }
  }
  text += " xid " + hex_text(message.record.match_bits().value_or(0));
  const auto job = rpc.job();
  if (job && !job->empty()) text += " job " + printable(*job);
  if ((rpc.get(&RpcBodyWire::flags).value_or(0) & kRpcResent) != 0) text += " resent";
  return text;
}

std::string details(const Message& message) {
  if (const Rpc* const rpc = message.rpc()) return rpc_details(message, *rpc);
  if (const SelftestMessage* const selftest = message.selftest()) {
    std::string text = " " + operation_text(message);
    if (selftest->whole) {
      if (const auto* const brw = std::get_if<selftest::BrwRequest>(&selftest->whole->body)) {
        text += brw->operation == selftest::BulkOperation::kRead ? " read " : " write ";
        text += size_text(brw->length);
      }
    }
    return text;
  }
  if (const auto* const ping = message.ping()) {
    std::string text = fmt::format(" interfaces (number {}):", ping->sequence());
    for (auto walk = ping->walk(); const auto entry = walk.next();) {
      text += " " + lnet::text_of(entry->nid);
      if (entry->status != lnet::kNiUp) text += "(down)";
    }
    return text;
  }
  return {};
}

}  // namespace

std::string line_of(const Sighting& sighting, bool colour) {
  const RecordHeader& record = sighting.record();
  const auto portal = sighting.portal();
  std::string line = fmt::format(
      "{} {:4} {:>18} > {:18} {:5} {:20} {:>7}", text_of_time(record.time_ns).substr(11, 15),
      name_of(record.direction), lnet::text_of(record.source), lnet::text_of(record.destination),
      name_or_number(message_type_names(), record.type),
      portal ? name_or_number(portal_names(), *portal) : "-", size_text(record.payload_length));
  line += details(sighting.message);
  std::string_view paint;
  if (const auto status = sighting.message.status(); status && *status != 0) {
    line += fmt::format(" status {}", *status);
    paint = kYellow;
  }
  if (record.direction == Direction::kDropped) {
    line += fmt::format(" dropped: {}", text_of_cause(record.cause));
    paint = kRed;
  }
  if (sighting.paired.latency_ns) line += " after " + duration_text(*sighting.paired.latency_ns);
  if (colour && !paint.empty()) return fmt::format("{}{}{}", paint, line, kPlain);
  return line;
}

}  // namespace plnet::trace

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/wait.hpp"

#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/lnet/flow/wait_counters.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/decode/lnet_names.hpp"
#include "lib/trace/show/format.hpp"
#include "lib/trace/show/words.hpp"

namespace plnet::trace {

namespace {

// A node of a later release may have other waits.
std::string_view wait_name(const Record& record) {
  const std::size_t wait = record.header.cause;
  return wait < lnet::kWaitNames.size() ? lnet::kWaitNames[wait] : "unknown";
}

WaitedNs waited_ns(const Record& record) {
  WaitedNs waited = 0;
  if (record.payload.size() >= sizeof waited)
    std::memcpy(&waited, record.payload.data(), sizeof waited);
  return waited;
}

}  // namespace

std::string wait_line_of(const Record& record) {
  const RecordHeader& header = record.header;
  std::string line = fmt::format(
      "{} {:4} {:>18} > {:18} {:5} {:20} {:>7}", text_of_time(header.time_ns).substr(11, 15),
      name_of(header.direction), lnet::text_of(header.source), lnet::text_of(header.destination),
      name_or_number(message_type_names(), header.type), wait_name(record),
      size_text(header.payload_length));
  if (header.direction == Direction::kWaited) line += " after " + duration_text(waited_ns(record));
  return line;
}

std::string wait_json_of(const Record& record) {
  const RecordHeader& header = record.header;
  nlohmann::ordered_json json{{"time", text_of_time(header.time_ns)},
                              {"dir", name_of(header.direction)},
                              {"wait", wait_name(record)},
                              {"type", name_or_number(message_type_names(), header.type)},
                              {"src", lnet::text_of(header.source)},
                              {"dst", lnet::text_of(header.destination)},
                              {"len", header.payload_length}};
  if (header.direction == Direction::kWaited) json["waited_ns"] = waited_ns(record);
  return json.dump();
}

}  // namespace plnet::trace

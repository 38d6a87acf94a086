// SPDX-License-Identifier: BSD-3-Clause
// Captured messages of anybody: a record's fixed part, then its payload. All that is decoded can be
// shown, and what was captured of it is all that is read.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/check.hpp"
#include "lib/trace/filter/filter_input.hpp"
#include "lib/trace/show/chart.hpp"
#include "lib/trace/show/format.hpp"
#include "lib/trace/show/json.hpp"
#include "lib/trace/show/line.hpp"
#include "lib/trace/show/summary.hpp"

using namespace plnet::trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Format kEverything = [] {
    std::string text;
    for (const FormatCode& code : format_codes())
      text += "%" + std::string(code.code) + " ";
    return Format::parse(text).value();
  }();
  RecordHeader header;
  if (size < sizeof header) return 0;
  std::memcpy(static_cast<void*>(&header), data, sizeof header);
  // A copy of the exact size, so that the sanitizer sees a read one byte beyond.
  const std::vector<std::uint8_t> payload(data + sizeof header, data + size);
  header.captured = static_cast<std::uint32_t>(payload.size());
  header.direction = static_cast<Direction>(static_cast<unsigned>(header.direction) % 3);
  const Message message = decode({header, std::as_bytes(std::span(payload))});
  Summary summary;
  PairUp pairs(&summary);
  Chart chart;
  for (std::uint64_t number = 1; number <= 2; ++number) {
    const Paired paired = pairs.add(message);
    const Sighting sighting{.number = number, .message = message, .paired = paired};
    PLNET_CHECK(nlohmann::json::accept(json_of(sighting)), "JSON is JSON");
    PLNET_CHECK(!line_of(sighting, false).contains('\x1b'), "terminals stay as they are");
    PLNET_CHECK(!kEverything.line(sighting).contains('\n'), "a message is a line");
    summary.add(message);
    chart.add(sighting);
  }
  pairs.finish();
  PLNET_CHECK(nlohmann::json::accept(summary.json()), "JSON is JSON");
  (void)chart.html();
  FilterInput input;
  fill_header(message.record, input);
  fill_content(message, input);
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/dump.hpp"

#include "lib/trace/show/json.hpp"
#include "lib/trace/show/line.hpp"
#include "lib/trace/show/wait.hpp"

namespace plnet::lnetdump {

namespace {

constexpr std::size_t kFilePieceBytes = 1U << 20U;
// Printed when an assertion fails; more would not be read.
constexpr std::size_t kKeptLinesMax = 1000;
constexpr std::string_view kClearScreen = "\033[H\033[2J";

}  // namespace

Dump::Dump(const Arguments& arguments, std::FILE* out, std::FILE* file)
    : arguments_(arguments),
      out_(out),
      file_(file),
      pairs_(this),
      writer_(arguments.as_tcp ? trace::PacketStyle::kTcp : trace::PacketStyle::kUpperPdu,
              "lnetdump " PLNET_VERSION) {}

// Messages that do not match the filter are still used for pairing, such as the request of a reply.
void Dump::on_record(const trace::Record& record, const lnet::Nid& interface) {
  if (is_done()) return;
  if (record.is_wait()) return show_wait(record);
  const std::uint64_t number = arguments_.first_number + seen_++;
  const trace::Message message = trace::decode(record);
  const trace::Paired paired = pairs_.add(message);
  const bool filtered = arguments_.is_live() && !arguments_.live.of_kernel;  // by the node
  if (!filtered && !arguments_.filter.is_empty()) {
    fill_header(record, input_);
    fill_content(message, input_);
    if (!arguments_.filter.matches(input_)) return;
  }
  ++shown_;
  show({.number = number,
        .message = message,
        .paired = paired,
        .interface = interface,
        .previous_ns = previous_ns_});
  previous_ns_ = record.header.time_ns;
  if (file_ == nullptr) return;
  writer_.add(record, interface);
  if (writer_.waiting_bytes() >= kFilePieceBytes) write_file();
}

void Dump::on_exchange(const trace::Exchange& exchange) {
  summary_.on_exchange(exchange);
}

void Dump::show(const trace::Sighting& sighting) {
  summary_.add(sighting.message);
  tally_.add(sighting);
  if (!arguments_.assertions.empty() && kept_lines_.size() < kKeptLinesMax) {
    kept_lines_.push_back(arguments_.format ? arguments_.format->line(sighting)
                                            : trace::line_of(sighting, false));
  }
  if (arguments_.chart) chart_.add(sighting);
  if (arguments_.quiet) return;
  std::string line = arguments_.format ? arguments_.format->line(sighting)
                     : arguments_.json ? trace::json_of(sighting)
                                       : trace::line_of(sighting, arguments_.colour);
  line += '\n';
  print(line);
}

// A wait is not a message: tables, charts and files leave it out.
void Dump::show_wait(const trace::Record& record) {
  if (arguments_.quiet || arguments_.format) return;
  print((arguments_.json ? trace::wait_json_of(record) : trace::wait_line_of(record)) + '\n');
}

void Dump::print(std::string_view text) {
  failed_ |= std::fwrite(text.data(), 1, text.size(), out_) != text.size();
}

void Dump::write_file() {
  const std::string bytes = writer_.take();
  failed_ |= std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size();
}

void Dump::flush() {
  if (file_ != nullptr) {
    write_file();
    failed_ |= std::fflush(file_) != 0;
  }
  failed_ |= std::fflush(out_) != 0;
}

void Dump::print_top() {
  if (arguments_.colour) print(kClearScreen);
  print(arguments_.json ? summary_.json() : summary_.text());
  summary_ = {};
}

void Dump::finish() {
  pairs_.finish();
  if (file_ != nullptr) write_file();
  if (arguments_.top) print_top();
  if (arguments_.summary) print(arguments_.json ? summary_.json() : summary_.text());
  if (arguments_.metrics) print(summary_.metrics());
  if (arguments_.chart) {
    switch (*arguments_.chart) {
      case ChartKind::kText: print(chart_.text()); break;
      case ChartKind::kMermaid: print(chart_.mermaid()); break;
      case ChartKind::kHtml: print(chart_.html()); break;
    }
  }
  failed_ |= std::fflush(out_) != 0;
  if (file_ != nullptr) failed_ |= std::fflush(file_) != 0;
}

}  // namespace plnet::lnetdump

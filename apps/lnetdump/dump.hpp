// SPDX-License-Identifier: BSD-3-Clause
// Messages in; lines, tables, charts and files out.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnetdump/arguments.hpp"
#include "lib/trace/file/capture_source.hpp"
#include "lib/trace/file/capture_writer.hpp"
#include "lib/trace/pair/pair_up.hpp"
#include "lib/trace/show/chart.hpp"
#include "lib/trace/show/summary.hpp"
#include "lib/trace/show/tally.hpp"

namespace plnet::lnetdump {

class Dump : public trace::RecordSink, private trace::ExchangeSink {
 public:
  // `file`: where -w writes; null: nowhere.
  Dump(const Arguments& arguments, std::FILE* out, std::FILE* file);

  void on_record(const trace::Record& record, const lnet::Nid& interface) override;
  // Writes buffered output, so that readers of the outputs see whole packets and lines.
  void flush();
  // Prints the summary since the last call, after clearing a terminal's screen.
  void print_top();
  // Prints tables and charts, and completes the file.
  void finish();

  [[nodiscard]] bool is_done() const { return shown_ >= arguments_.count_max || failed_; }
  [[nodiscard]] bool has_failed() const { return failed_; }  // writing failed
  [[nodiscard]] std::uint64_t seen() const { return seen_; }
  [[nodiscard]] std::uint64_t shown() const { return shown_; }
  [[nodiscard]] const trace::Tally& tally() const { return tally_; }
  // The first shown messages, as lines; kept for assertions only.
  [[nodiscard]] const std::vector<std::string>& kept_lines() const { return kept_lines_; }

 private:
  void on_exchange(const trace::Exchange& exchange) override;
  void show(const trace::Sighting& sighting);
  void show_wait(const trace::Record& record);
  void print(std::string_view text);
  void write_file();

  const Arguments& arguments_;
  std::FILE* const out_;
  std::FILE* const file_;
  trace::PairUp pairs_;
  trace::CaptureWriter writer_;
  trace::Summary summary_;
  trace::Chart chart_;
  trace::Tally tally_;
  std::vector<std::string> kept_lines_;
  trace::FilterInput input_;
  std::uint64_t seen_ = 0;
  std::uint64_t shown_ = 0;
  std::uint64_t previous_ns_ = 0;
  bool failed_ = false;
};

}  // namespace plnet::lnetdump

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/diff.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/lnetdump/input.hpp"
#include "apps/lnetdump/lnetdump.hpp"
#include "apps/manual/cli_page.hpp"
#include "lib/trace/file/capture_source.hpp"
#include "lib/trace/filter/expression.hpp"
#include "lib/trace/filter/filter_input.hpp"
#include "lib/trace/show/format.hpp"

namespace plnet::lnetdump {

namespace {

// Without times and counting numbers: the effects of a command, not their times.
constexpr const char* kFormatDefault = "%Ls %Lf > %Lr %Lt %LP %PT %Po %Pi %Pr %St [%Pj]";
// Limit of different lines, and of the lines of an ordered capture.
constexpr std::size_t kLinesMax = 1U << 20U;

struct Run {
  std::map<std::string, std::uint64_t> counts;
  std::vector<std::string> lines;  // in order; only if the order matters
  bool too_many = false;
};

class Lines final : public trace::RecordSink {
 public:
  Lines(const trace::Format& format, const trace::Expression& filter, bool ordered, Run& run)
      : format_(format), filter_(filter), ordered_(ordered), run_(run) {}

  void on_record(const trace::Record& record, const lnet::Nid& interface) override {
    const trace::Message message = trace::decode(record);
    const trace::Paired paired = pairs_.add(message);
    fill_header(record, input_);
    fill_content(message, input_);
    if (!filter_.matches(input_)) return;
    std::string line = format_.line(
        {.number = ++number_, .message = message, .paired = paired, .interface = interface});
    if (ordered_) {
      run_.too_many |= run_.lines.size() >= kLinesMax;
      if (!run_.too_many) run_.lines.push_back(line);
    }
    const auto known = run_.counts.find(line);
    if (known != run_.counts.end()) {
      ++known->second;
    } else if (run_.counts.size() < kLinesMax) {
      run_.counts.emplace(std::move(line), 1);
    } else {
      run_.too_many = true;
    }
  }

 private:
  const trace::Format& format_;
  const trace::Expression& filter_;
  const bool ordered_;
  Run& run_;
  trace::PairUp pairs_;
  trace::FilterInput input_;
  std::uint64_t number_ = 0;
};

struct DiffOptions {
  std::array<std::string, 2> paths;
  std::string format = kFormatDefault;
  std::string filter;
  bool ordered = false;
};

Outcome<std::array<Run, 2>> read_both(const DiffOptions& options) {
  const auto format = trace::Format::parse(options.format);
  if (!format) return std::unexpected(format.error());
  const auto filter = trace::Expression::parse(options.filter);
  if (!filter) return std::unexpected(filter.error());
  std::array<Run, 2> runs;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Lines lines(*format, *filter, options.ordered, runs[i]);
    trace::CaptureSource source(lines, {});
    const auto end = read_packets(options.paths[i], [&](const trace::Packet& packet) {
      source.add(packet);
      return true;
    });
    source.finish();
    if (!end) return std::unexpected(end.error());
    if (runs[i].too_many) {
      return failure(Errc::kTooBig,
                     fmt::format("{}: more than {} lines; use a --filter, or a format with less in "
                                 "it",
                                 options.paths[i], kLinesMax));
    }
  }
  return runs;
}

int compare_counts(const std::array<Run, 2>& runs, std::FILE* out) {
  bool same = true;
  std::map<std::string, std::array<std::uint64_t, 2>> all;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& [line, count] : runs[i].counts)
      all[line][i] = count;
  }
  for (const auto& [line, counts] : all) {
    if (counts[0] == counts[1]) continue;
    same = false;
    fmt::print(out, "{}{} {} (A {}, B {})\n", counts[0] > counts[1] ? '-' : '+',
               std::max(counts[0], counts[1]) - std::min(counts[0], counts[1]), line, counts[0],
               counts[1]);
  }
  return same ? kDone : kFailed;
}

int compare_order(const std::array<Run, 2>& runs, std::FILE* out) {
  const auto [one, other] = std::ranges::mismatch(runs[0].lines, runs[1].lines);
  if (one == runs[0].lines.end() && other == runs[1].lines.end()) return kDone;
  const auto at = one - runs[0].lines.begin();
  fmt::print(out, "the first {} messages are the same; then\n- {}\n+ {}\n", at,
             one == runs[0].lines.end() ? "(the end of A)" : *one,
             other == runs[1].lines.end() ? "(the end of B)" : *other);
  return kFailed;
}

constexpr const char* kDiffHelp =
    "lnetdump diff: compares the messages of two captures, whatever their order";

void describe(CLI::App& app, DiffOptions& options) {
  app.add_option("A", options.paths[0], "a capture file")->required();
  app.add_option("B", options.paths[1], "another one")->required();
  app.add_option("-p,--print", options.format, "compare messages as lines of this format")
      ->capture_default_str();
  app.add_option("--filter", options.filter, "compare only messages that match");
  app.add_flag("--ordered", options.ordered, "the order has to be the same");
}

}  // namespace

manual::Command diff_page() {
  DiffOptions options;
  CLI::App app(kDiffHelp, "lnetdump diff");
  describe(app, options);
  return manual::command_of(app, "diff");
}

int run_diff(int argc, const char* const* argv, std::FILE* out, std::FILE* error) {
  DiffOptions options;
  CLI::App app(kDiffHelp, "lnetdump diff");
  describe(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print(out, "{}", app.help());
    return kDone;
  } catch (const CLI::ParseError& wrong) {
    fmt::print(error, "lnetdump diff: {}\nTry: lnetdump diff --help\n", wrong.what());
    return kWrong;
  }
  const auto runs = read_both(options);
  if (!runs) {
    fmt::print(error, "lnetdump diff: {}\n", runs.error().what);
    return kWrong;
  }
  return options.ordered ? compare_order(*runs, out) : compare_counts(*runs, out);
}

}  // namespace plnet::lnetdump

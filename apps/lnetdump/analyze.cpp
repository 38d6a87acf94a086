// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/analyze.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/lnetdump/analysis.hpp"
#include "apps/lnetdump/input.hpp"
#include "apps/lnetdump/lnetdump.hpp"
#include "apps/manual/cli_page.hpp"
#include "lib/base/counted.hpp"
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::lnetdump {

namespace {

constexpr unsigned kThreadsMax = 256;
// Packets between two readings of the clock.
constexpr std::uint64_t kLookEvery = 16384;

struct AnalyzeOptions {
  std::vector<std::string> files;
  AnalysisOptions analysis;
  std::string filter;
  bool json = false;
  bool metrics = false;
  bool quiet = false;
};

std::uint64_t bytes_of(const std::vector<std::string>& files) {
  std::uint64_t sum = 0;
  for (const std::string& file : files) {
    struct stat facts{};
    if (::stat(file.c_str(), &facts) == 0) sum += static_cast<std::uint64_t>(facts.st_size);
  }
  return sum;
}

// A progress bar, the amount of input read, and the remaining time.
class Progress {
 public:
  Progress(std::uint64_t total, bool shown, std::FILE* error)
      : total_(total), shown_(shown), error_(error), begun_(clock_.now()), said_(begun_) {}
  ~Progress() {
    if (has_said_) fmt::print(error_, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void look(std::uint64_t done) {
    if (!shown_ || total_ == 0 || done == 0) return;
    const Instant now = clock_.now();
    if (now - said_ < std::chrono::milliseconds(250)) return;
    said_ = now;
    has_said_ = true;
    constexpr std::uint64_t kWidth = 30;
    const std::uint64_t marks = std::min(kWidth, done * kWidth / total_);
    const double took = std::chrono::duration<double>(now - begun_).count();
    const double rest =
        took * static_cast<double>(total_ - std::min(done, total_)) / static_cast<double>(done);
    fmt::print(error_, "\r[{:{}}] {:3} % {} of {} MiB, {:.0f} s left\033[K",
               std::string(marks, '='), kWidth, done * 100 / total_, done >> 20U, total_ >> 20U,
               rest);
    (void)std::fflush(error_);
  }

 private:
  const std::uint64_t total_;
  const bool shown_;
  std::FILE* const error_;
  const runtime::SystemClock clock_;
  const Instant begun_;
  Instant said_;
  bool has_said_ = false;
};

bool read_all(const AnalyzeOptions& options, Analysis& analysis, std::FILE* error) {
  Progress progress(bytes_of(options.files), !options.quiet && ::isatty(::fileno(error)) == 1,
                    error);
  bool good = true;
  std::uint64_t before = 0;
  for (const std::string& path : options.files) {
    std::uint64_t position = 0;
    const auto end = read_packets(
        path,
        [&](const trace::Packet& packet) {
          analysis.add(packet);
          if (analysis.packets() % kLookEvery == 0) progress.look(before + position);
          return true;
        },
        &position);
    analysis.end_file();
    before += position;
    if (!end) {
      fmt::print(error, "lnetdump analyze: {}\n", end.error().what);
      good = false;
    } else if (end->cut_bytes > 0) {
      fmt::print(error, "lnetdump analyze: {}: the file ends within a packet\n", path);
    }
  }
  return good;
}

constexpr const char* kAnalyzeHelp = "lnetdump analyze: summarises large captures, on all CPUs";

void describe(CLI::App& app, AnalyzeOptions& options) {
  app.add_option("FILE", options.files, "pcap or pcapng files")->required();
  app.add_option("--filter", options.filter, "count only messages that match");
  app.add_option("--threads", options.analysis.threads, "number of threads; 0: one for each CPU")
      ->check(CLI::Range(0U, kThreadsMax));
  app.add_option("--port", options.analysis.port, "TCP port of socklnd")->capture_default_str();
  app.add_flag("--json", options.json, "print the tables as JSON");
  app.add_flag("--metrics", options.metrics, "print them as Prometheus text");
  app.add_flag("-q,--quiet", options.quiet, "no progress bar");
}

}  // namespace

manual::Command analyze_page() {
  AnalyzeOptions options;
  CLI::App app(kAnalyzeHelp, "lnetdump analyze");
  describe(app, options);
  return manual::command_of(app, "analyze");
}

int run_analyze(int argc, const char* const* argv, std::FILE* out, std::FILE* error) {
  AnalyzeOptions options;
  CLI::App app(kAnalyzeHelp, "lnetdump analyze");
  describe(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print(out, "{}", app.help());
    return 0;
  } catch (const CLI::ParseError& wrong) {
    fmt::print(error, "lnetdump analyze: {}\nTry: lnetdump analyze --help\n", wrong.what());
    return kWrong;
  }
  auto filter = trace::Expression::parse(options.filter);
  if (!filter) {
    fmt::print(error, "lnetdump analyze: {}\n", filter.error().what);
    return kWrong;
  }
  options.analysis.filter = std::move(*filter);
  Analysis analysis(options.analysis);
  const bool good = read_all(options, analysis, error);
  const trace::Summary summary = analysis.finish();
  if (!good && analysis.packets() == 0) return kFailed;
  const std::string text = options.json      ? summary.json()
                           : options.metrics ? summary.metrics()
                                             : summary.text();
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (analysis.losses() > 0) {
    fmt::print(error,
               "lnetdump analyze: bytes are missing; the start of a message was searched for {}\n",
               counted(analysis.losses(), "time"));
  }
  return good && written ? kDone : kFailed;
}

}  // namespace plnet::lnetdump

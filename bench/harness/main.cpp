// SPDX-License-Identifier: BSD-3-Clause
// The main() of every benchmark executable: selects by name, interleaves value and floor, prints
// one JSON object a line on stdout and everything else on stderr.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <sched.h>

#include "bench/harness/environment.hpp"
#include "bench/harness/harness.hpp"

namespace plnet::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kRoundsDefault = 25;  // an odd number has a middle
constexpr unsigned kRoundsMax = 1001;
constexpr unsigned kPatience = 8;  // rounds tried per round wanted, on a busy machine
constexpr std::chrono::seconds kPatienceTime{60};  // after the wanted number of attempts
constexpr unsigned kQuietEnough = 5;               // enough undisturbed rounds to use these alone

// The result of one round of one body.
struct Round {
  double figure = 0;
  std::map<std::string, double> counters;
  bool disturbed = false;
};

// Keeps the single run of Google Benchmark.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  explicit Collector(Timing timing) : timing_(timing) {}

  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) error_ = run.error_message;
      iterations_ = run.iterations;
      round_.figure =
          timing_ == Timing::kCpu ? run.GetAdjustedCPUTime() : run.GetAdjustedRealTime();
      for (const auto& [name, counter] : run.counters) {
        if (name == "value") {
          round_.figure = counter.value;
        } else {
          round_.counters[name] = counter.value;
        }
      }
    }
  }

  [[nodiscard]] const Round& round() const { return round_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] benchmark::IterationCount iterations() const { return iterations_; }

 private:
  Timing timing_;
  Round round_;
  std::string error_;
  benchmark::IterationCount iterations_ = 0;
};

// One of the two bodies of a benchmark, run round by round.
class Side {
 public:
  Side(const Benchmark& benchmark, const Body& body) : benchmark_(benchmark), body_(body) {}

  // The first round determines the number of iterations, and is not counted.
  [[nodiscard]] bool calibrate() {
    if (benchmark_.once) {
      iterations_ = 1;
      return true;
    }
    const bool ran = run(0);
    return ran && iterations_ > 0;
  }
  [[nodiscard]] bool round() {
    const auto before = involuntary_switches();
    if (!run(iterations_)) return false;
    last_.disturbed = !benchmark_.once && involuntary_switches() != before;
    return true;
  }

  [[nodiscard]] const Round& last() const { return last_; }
  void keep(const Round& round) { rounds_.push_back(round); }
  [[nodiscard]] const std::vector<Round>& rounds() const { return rounds_; }

 private:
  bool run(benchmark::IterationCount iterations) {
    benchmark::ClearRegisteredBenchmarks();
    auto* run = benchmark::RegisterBenchmark(benchmark_.name.c_str(), body_);
    run->Unit(benchmark::kNanosecond);
    if (iterations > 0) {
      run->Iterations(iterations);
    } else {
      run->MinTime(benchmark_.round_seconds);
    }
    if (benchmark_.timing == Timing::kReal) run->UseRealTime();
    if (benchmark_.timing == Timing::kManual) run->UseManualTime();
    Collector collector(benchmark_.timing);
    benchmark::RunSpecifiedBenchmarks(&collector, ".");
    if (!collector.error().empty()) {
      std::fprintf(stderr, "%s: %s\n", benchmark_.name.c_str(), collector.error().c_str());
      return false;
    }
    iterations_ = collector.iterations();
    last_ = collector.round();
    return true;
  }

  const Benchmark& benchmark_;
  const Body& body_;
  benchmark::IterationCount iterations_ = 0;
  Round last_;
  std::vector<Round> rounds_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> figures(const Side& side) {
  std::vector<double> out;
  for (const Round& round : side.rounds())
    out.push_back(round.figure);
  return out;
}

double rounded(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return std::strtod(text.data(), nullptr);
}

std::string bar_text(const Benchmark& benchmark) {
  if (!benchmark.bar) return "";
  const Bar& bar = *benchmark.bar;
  const bool ratio = bar.of == Bar::Of::kRatio;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s %s %g%s%s", ratio ? "ratio" : "value",
                bar.side == Bar::Side::kAtMost ? "<=" : ">=", bar.limit, ratio ? "" : " ",
                ratio ? "" : benchmark.unit.c_str());
  return text.data();
}

// One line on stderr.
void tell(const Round& value, const Round* floor) {
  Json line;
  line["value"] = rounded(value.figure);
  if (floor != nullptr) line["floor"] = rounded(floor->figure);
  for (const auto& [name, counter] : value.counters)
    line[name] = rounded(counter);
  if (value.disturbed || (floor != nullptr && floor->disturbed)) line["disturbed"] = true;
  std::fprintf(stderr, "%s\n", line.dump().c_str());
}

// Runs value and floor alternately until enough rounds are undisturbed. A pair is kept or dropped
// as a whole; on a machine that is never quiet disturbed pairs are used too.
bool run_rounds(unsigned wanted, Side& value, Side* floor, bool print_each, unsigned& disturbed) {
  if (!value.calibrate() || (floor != nullptr && !floor->calibrate())) return false;
  std::vector<std::pair<Round, Round>> noisy;
  const auto begun = std::chrono::steady_clock::now();
  const auto patient = [&](unsigned tried) {
    return tried < wanted ||
           (tried < wanted * kPatience && std::chrono::steady_clock::now() - begun < kPatienceTime);
  };
  for (unsigned tried = 0; patient(tried) && value.rounds().size() < wanted; ++tried) {
    if (!value.round() || (floor != nullptr && !floor->round())) return false;
    const Round beneath = floor != nullptr ? floor->last() : Round{};
    if (print_each) tell(value.last(), floor != nullptr ? &beneath : nullptr);
    if (value.last().disturbed || beneath.disturbed) {
      noisy.emplace_back(value.last(), beneath);
      continue;
    }
    value.keep(value.last());
    if (floor != nullptr) floor->keep(beneath);
  }
  disturbed = static_cast<unsigned>(noisy.size());
  if (value.rounds().size() >= std::min<std::size_t>(kQuietEnough, wanted)) return true;
  for (const auto& [above, beneath] : noisy) {
    value.keep(above);
    if (floor != nullptr) floor->keep(beneath);
  }
  return true;
}

bool measure(const Benchmark& benchmark, unsigned rounds, bool print_each, const Json& fixed) {
  std::fprintf(stderr, "%s …\n", benchmark.name.c_str());
  Side value(benchmark, benchmark.value);
  Side floor(benchmark, benchmark.floor);
  const bool has_floor = static_cast<bool>(benchmark.floor);
  unsigned disturbed = 0;
  const CpuTicks before = cpu_ticks();
  if (!run_rounds(benchmark.once ? 1 : rounds, value, has_floor ? &floor : nullptr, print_each,
                  disturbed))
    return false;
  const CpuTicks after = cpu_ticks();

  const auto values = figures(value);
  const double middle = median(values);
  std::optional<double> ratio;
  Json line;
  line["bench"] = benchmark.name;
  line["value"] = rounded(middle);
  line["unit"] = benchmark.unit;
  line["floor"] = nullptr;
  line["ratio"] = nullptr;
  if (has_floor) {
    const double floor_middle = median(figures(floor));
    line["floor"] = rounded(floor_middle);
    if (floor_middle > 0) {
      ratio = middle / floor_middle;
      line["ratio"] = rounded(*ratio);
    }
  }
  if (benchmark.bar) {
    const Bar& bar = *benchmark.bar;
    const double judged = bar.of == Bar::Of::kRatio ? ratio.value_or(1e9) : middle;
    line["bar"] = bar_text(benchmark);
    line["met"] = bar.side == Bar::Side::kAtMost ? judged <= bar.limit : judged >= bar.limit;
  }
  line["statistic"] = "median of interleaved rounds";
  line["clock"] = benchmark.timing == Timing::kCpu ? "thread cpu" : "wall";
  line["rounds"] = values.size();
  line["rounds_disturbed"] = disturbed;
  line["value_min"] = rounded(std::ranges::min(values));
  line["value_max"] = rounded(std::ranges::max(values));
  for (const auto& [name, unused] : value.rounds().front().counters) {
    std::vector<double> column;
    for (const Round& round : value.rounds())
      column.push_back(round.counters.at(name));
    line[name] = rounded(median(column));
  }
  const auto ticks = static_cast<double>(after.total - before.total);
  line["steal_percent"] =
      ticks > 0 ? rounded(100.0 * static_cast<double>(after.steal - before.steal) / ticks) : 0.0;
  line.update(fixed);
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
  return true;
}

void list(const Suite& suite) {
  for (const Benchmark& benchmark : suite) {
    Json line;
    line["bench"] = benchmark.name;
    line["what"] = benchmark.what;
    line["unit"] = benchmark.unit;
    line["bar"] = bar_text(benchmark);
    std::printf("%s\n", line.dump().c_str());
  }
}

// The CPUs that the process started with: a body that pins its own thread must not reduce them.
const cpu_set_t& cpus_at_start() {
  static const cpu_set_t kCpus = [] {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof cpus, &cpus);
    return cpus;
  }();
  return kCpus;
}

int run(int argc, char** argv) {
  CLI::App app("one room's benchmarks; ./measure is the way to run them");
  bool only_list = false;
  bool print_each = false;
  unsigned rounds = kRoundsDefault;
  std::vector<std::string> names;
  std::vector<std::string> context;
  app.add_flag("--list", only_list, "print the names, one JSON object a line");
  app.add_option("--rounds", rounds, "rounds wanted of each")->check(CLI::Range(1U, kRoundsMax));
  app.add_flag("--each", print_each, "tell each round on stderr, as it was");
  app.add_option("--context", context, "KEY=VALUE to put into every line")->allow_extra_args(false);
  app.add_option("names", names, "exact names; all if none is given");
  CLI11_PARSE(app, argc, argv);

  Suite suite;
  add_benchmarks(suite);
  if (only_list) {
    list(suite);
    return EXIT_SUCCESS;
  }
  Json fixed = environment();
  for (const std::string& pair : context) {
    const auto equals = pair.find('=');
    if (equals != std::string::npos) fixed[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  (void)cpus_at_start();
  bool good = true;
  for (const Benchmark& benchmark : suite) {
    if (!names.empty() && std::ranges::find(names, benchmark.name) == names.end()) continue;
    good = measure(benchmark, rounds, print_each, fixed) && good;
    // Undoes pinning by the body.
    sched_setaffinity(0, sizeof(cpu_set_t), &cpus_at_start());
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

std::optional<int> nth_usable_cpu(unsigned nth) {
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &cpus_at_start()) && nth-- == 0) return cpu;
  }
  return std::nullopt;
}

bool pin_to_nth_cpu(unsigned nth) {
  const auto cpu = nth_usable_cpu(nth);
  if (!cpu) return false;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(*cpu, &only);
  return pthread_setaffinity_np(pthread_self(), sizeof only, &only) == 0;
}

}  // namespace plnet::bench

int main(int argc, char** argv) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // as nodes do
  return plnet::bench::run(argc, argv);
}

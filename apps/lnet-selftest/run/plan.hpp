// SPDX-License-Identifier: BSD-3-Clause
// The measurements of `lnet-selftest run`: two groups of nodes, and every combination of tests,
// sizes and concurrencies, each several times. Plain values, from a file or a command line.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/lnet-selftest/lst/test_words.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/selftest/console/test_spec.hpp"
#include "lib/selftest/pace.hpp"

namespace plnet::run {

enum class Operation : std::uint8_t { kRead, kWrite, kPing };

inline constexpr std::array<std::pair<std::string_view, Operation>, 3> kOperations{
    {{"read", Operation::kRead}, {"write", Operation::kWrite}, {"ping", Operation::kPing}}};
inline constexpr std::array<std::pair<std::string_view, selftest::Check>, 4> kChecks{
    {{"none", selftest::Check::kNone},
     {"simple", selftest::Check::kSimple},
     {"full", selftest::Check::kFull},
     {"discard", selftest::Check::kDiscard}}};

[[nodiscard]] std::string_view text_of(Operation operation);
[[nodiscard]] std::string_view text_of(selftest::Check check);
[[nodiscard]] std::string_view text_of(selftest::Arrivals arrivals);

// Thresholds for every point; nothing: no threshold.
struct Limits {
  std::optional<double> throughput_min_mibps{};
  std::optional<double> rate_min_rps{};
  std::optional<double> p99_max_us{};
  std::optional<std::uint64_t> errors_max{};

  friend bool operator==(const Limits&, const Limits&) = default;
};

// The percentile that limits a search for the highest rate.
enum class Percentile : std::uint8_t { kP50, kP90, kP99, kP999 };
inline constexpr std::array<std::pair<std::string_view, Percentile>, 4> kPercentiles{
    {{"p50", Percentile::kP50},
     {"p90", Percentile::kP90},
     {"p99", Percentile::kP99},
     {"p999", Percentile::kP999}}};
inline constexpr std::array<std::pair<std::string_view, selftest::Arrivals>, 2> kArrivals{
    {{"poisson", selftest::Arrivals::kPoisson}, {"constant", selftest::Arrivals::kConstant}}};

struct RateGoal {
  Percentile percentile = Percentile::kP99;
  double limit_us = 0;

  friend bool operator==(const RateGoal&, const RateGoal&) = default;
};

struct Plan {
  std::string name = "run";
  // As written by users, with ranges; and as sent to a console.
  std::vector<std::string> from_words{};
  std::vector<std::string> to_words{};
  std::vector<std::string> from{};
  std::vector<std::string> to{};
  std::vector<Operation> tests{Operation::kRead, Operation::kWrite};
  std::vector<std::uint32_t> sizes{std::uint32_t{1} << 20};
  std::vector<std::uint32_t> concurrencies{8};
  // Requests a second of all clients together, independent of answers; empty: each begins when one
  // has ended.
  std::vector<double> rates{};
  selftest::Arrivals arrivals = selftest::Arrivals::kPoisson;
  std::optional<RateGoal> highest_rate{};  // instead of rates
  // Control sockets of nodes, for figures that the wire does not carry. By node, once finished.
  std::map<std::string, std::string> control{};
  selftest::Check check = selftest::Check::kNone;
  bool allow_discard = false;
  lst::Distribution distribution{};
  Duration warm_up = std::chrono::seconds(1);
  Duration duration = std::chrono::seconds(5);
  unsigned repeats = 3;
  bool baseline = false;  // measure the machine's limits without LNet, alternating with every
                          // repeat
  Limits limits{};
  bool force = false;  // make consoles and nodes drop sessions of others
  // Control sockets of routers between the groups, for their part of the report.
  std::vector<std::string> routers{};
};

inline constexpr std::size_t kPointsMax = 4096;
inline constexpr unsigned kRepeatsMax = 1000;
inline constexpr std::size_t kListMax = 64;  // of tests, sizes, concurrencies
inline constexpr Duration kDurationMin = std::chrono::milliseconds(100);
inline constexpr Duration kDurationMax = std::chrono::hours(24);

struct Point {
  Operation operation = Operation::kRead;
  std::uint32_t size = 0;  // 0: of a ping
  std::uint32_t concurrency = 1;
  double rate = 0;  // of an open loop

  friend bool operator==(const Point&, const Point&) = default;
};
// "write 1M, concurrency 8", "ping, concurrency 8, 50000/s"
[[nodiscard]] std::string text_of(const Point& point);

// By test, size and concurrency, each in the order of the plan. Pings have no size and appear once.
// For a search these are its starts.
[[nodiscard]] std::vector<Point> points_of(const Plan& plan);

// The request to the console.
[[nodiscard]] selftest::AddTest test_of(const Plan& plan, const Point& point, std::string batch,
                                        std::string from, std::string to);

// Expands the nodes, and refuses plans that no run could execute.
[[nodiscard]] Outcome<void> finish_plan(Plan& plan);

// --- Parsing of words, for files and command lines ---

// "4096", "4k", "1M"
[[nodiscard]] Outcome<std::uint32_t> read_size(std::string_view text);
[[nodiscard]] std::string text_of_size(std::uint32_t size);
// "5", "0.5", "5s", "500ms", "2m"
[[nodiscard]] Outcome<Duration> read_duration(std::string_view text);
[[nodiscard]] Outcome<std::uint32_t> read_concurrency(std::string_view text);
[[nodiscard]] Outcome<Operation> read_operation(std::string_view text);
[[nodiscard]] Outcome<selftest::Check> read_check(std::string_view text);
// "50000", "50k", "1.5M"
[[nodiscard]] Outcome<double> read_rate(std::string_view text);
[[nodiscard]] Outcome<selftest::Arrivals> read_arrivals(std::string_view text);
[[nodiscard]] Outcome<Percentile> read_percentile(std::string_view text);
// "p99:200": this percentile within this many microseconds
[[nodiscard]] Outcome<RateGoal> read_goal(std::string_view text);
[[nodiscard]] std::string text_of(const RateGoal& goal);
// "NID=SOCKET"
[[nodiscard]] Outcome<std::pair<std::string, std::string>> read_control(std::string_view text);
[[nodiscard]] Outcome<unsigned> read_repeats(std::string_view text);
// For limits: not negative.
[[nodiscard]] Outcome<double> read_amount(std::string_view text);
[[nodiscard]] Outcome<std::uint64_t> read_count(std::string_view text);
// Splits at commas outside brackets.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

}  // namespace plnet::run

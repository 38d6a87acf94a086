// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/rate_search.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/selftest/pace.hpp"

namespace plnet::run {
namespace {

constexpr double kRounding = 1e-9;
// The last few may still wait.
constexpr double kBegunMin = 0.95;
// The number of random arrivals varies by this many standard deviations.
constexpr double kDeviations = 3;

bool all_began(const Measurement& measurement, double rate) {
  const double meant = rate * measurement.seconds;
  const double begun = measurement.rpc_rate * measurement.seconds;
  return begun + kDeviations * std::sqrt(meant) >= kBegunMin * meant;
}

double percentile(const Latency& latency, Percentile which) {
  switch (which) {
    case Percentile::kP50: return latency.p50_us;
    case Percentile::kP90: return latency.p90_us;
    case Percentile::kP99: return latency.p99_us;
    case Percentile::kP999: return latency.p999_us;
  }
  return latency.max_us;
}

}  // namespace

// Divided by the clients again, both ends must be within the limits of each.
RateSearch::RateSearch(std::size_t clients)
    : lowest_(
          std::max(kLowest, selftest::kPaceMin * static_cast<double>(clients) * (1 + kRounding))),
      top_(selftest::kPaceMax * static_cast<double>(clients) * (1 - kRounding)),
      rate_(std::clamp(kFirst, lowest_, top_)) {}

void RateSearch::judge(bool kept) {
  PLNET_CHECK(rate_.has_value(), "there is a rate to judge");
  (kept ? good_ : bad_) = rate_;
  ++tries_;
  rate_ = next();
}

std::optional<double> RateSearch::next() const {
  if (tries_ == kTriesMax) return std::nullopt;
  if (good_ && bad_) {
    if (*bad_ / *good_ <= kEnough) return std::nullopt;
    return std::sqrt(*good_ * *bad_);
  }
  if (good_) return *good_ < top_ ? std::optional(std::min(*good_ * kFactor, top_)) : std::nullopt;
  if (!bad_) return std::nullopt;
  return *bad_ > lowest_ ? std::optional(std::max(*bad_ / kFactor, lowest_)) : std::nullopt;
}

bool keeps(const RateGoal& goal, double rate, std::span<const Measurement> repeats) {
  std::vector<double> latencies;
  std::size_t began = 0;
  for (const Measurement& each : repeats) {
    if (each.cut_short || !each.latency || each.latency->count == 0) return false;
    if (each.errors.total() > 0 || each.pace.dropped > 0) return false;
    latencies.push_back(percentile(*each.latency, goal.percentile));
    began += all_began(each, rate) ? 1 : 0;
  }
  return 2 * began > latencies.size() && spread_of(std::move(latencies)).median <= goal.limit_us;
}

}  // namespace plnet::run

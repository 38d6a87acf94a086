// SPDX-License-Identifier: BSD-3-Clause
#include "apps/selftest-run/rate_search.hpp"

#include <cmath>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/selftest/pace.hpp"

namespace plnet::run {
namespace {

// Of random arrivals the last few may still wait, and their number has a spread of its own.
constexpr double kBegunMin = 0.95;

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
  if (good_ && *good_ * kFactor <= selftest::kPaceMax) return *good_ * kFactor;
  if (bad_ && *bad_ / kFactor >= kLowest) return *bad_ / kFactor;
  return std::nullopt;
}

bool keeps(const RateGoal& goal, double rate, std::span<const Measurement> repeats) {
  std::vector<double> latencies;
  std::vector<double> begun;
  for (const Measurement& each : repeats) {
    if (each.cut_short || !each.latency || each.latency->count == 0) return false;
    if (each.errors.total() > 0 || each.pace.dropped > 0) return false;
    latencies.push_back(percentile(*each.latency, goal.percentile));
    begun.push_back(each.rpc_rate);
  }
  return !latencies.empty() && spread_of(std::move(latencies)).median <= goal.limit_us &&
         spread_of(std::move(begun)).median >= kBegunMin * rate;
}

}  // namespace plnet::run

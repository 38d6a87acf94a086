// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/recent_activity.hpp"

#include <algorithm>
#include <utility>

namespace plnet::node {
namespace {

// `stats reset` and a restart of LNet set counters back: then all that is counted is new.
std::uint64_t growth(std::uint64_t before, std::uint64_t now) {
  return now >= before ? now - before : now;
}

}  // namespace

bool is_loss(lnet::Cause cause) {
  using lnet::Cause;
  if (cause == Cause::kTxOtherWay) return false;
  const std::string_view name = lnet::LnetCauses::kInfo[static_cast<std::size_t>(cause)].name;
  return name.starts_with("rejected_") || name.starts_with("dropped_") || name.starts_with("tx_") ||
         cause == Cause::kReceiveFailed || cause == Cause::kForwardFailed;
}

void RecentActivity::take(ActivitySample sample) {
  samples_.push_back(std::move(sample));
  // The oldest sample that is kept is the last one at the window's far end or beyond.
  const Instant now = samples_.back().at;
  while (samples_.size() > kSamplesMax ||
         (samples_.size() > 2 && now - samples_[1].at >= kDropWindow)) {
    samples_.pop_front();
  }
}

// The latest sample that is at least `window` older than the newest one, else the oldest. Null:
// there are not two.
const ActivitySample* RecentActivity::sample_before(Duration window) const {
  if (samples_.size() < 2) return nullptr;
  const Instant end = samples_.back().at;
  for (std::size_t i = samples_.size() - 1; i-- > 0;) {
    if (end - samples_[i].at >= window) return &samples_[i];
  }
  return &samples_.front();
}

ActivityRates RecentActivity::rates() const {
  const ActivitySample* const before = sample_before(kRateWindow);
  if (before == nullptr) return {};
  const ActivitySample& now = samples_.back();
  ActivityRates rates{.seconds = std::chrono::duration<double>(now.at - before->at).count()};
  if (rates.seconds <= 0) return {};
  const auto rate = [&](std::uint64_t ActivitySample::* counter) {
    return static_cast<double>(growth(before->*counter, now.*counter)) / rates.seconds;
  };
  rates.sent = rate(&ActivitySample::sent);
  rates.received = rate(&ActivitySample::received);
  rates.forwarded = rate(&ActivitySample::forwarded);
  rates.dropped = rate(&ActivitySample::dropped);
  rates.bytes = rate(&ActivitySample::bytes);
  return rates;
}

ShardActivity RecentActivity::grown(std::size_t shard) const {
  if (samples_.empty() || shard >= samples_.back().shards.size()) return {};
  const ShardActivity& now = samples_.back().shards[shard];
  const ActivitySample* const sample = sample_before(kRateWindow);
  if (sample == nullptr || shard >= sample->shards.size()) return now;
  const ShardActivity& before = sample->shards[shard];
  return {.busy_nsec = growth(before.busy_nsec, now.busy_nsec),
          .idle_nsec = growth(before.idle_nsec, now.idle_nsec),
          .asleep_nsec = growth(before.asleep_nsec, now.asleep_nsec),
          .messages = growth(before.messages, now.messages)};
}

double RecentActivity::duty(std::size_t shard) const {
  const ShardActivity all = grown(shard);
  const std::uint64_t total = all.busy_nsec + all.idle_nsec + all.asleep_nsec;
  return total == 0 ? 0 : static_cast<double>(all.busy_nsec) / static_cast<double>(total);
}

double RecentActivity::nsec_per_message(std::size_t shard) const {
  const ShardActivity all = grown(shard);
  if (all.messages == 0) return 0;
  return static_cast<double>(all.busy_nsec) / static_cast<double>(all.messages);
}

std::vector<GrowingCause> RecentActivity::growing_causes() const {
  std::vector<GrowingCause> growing;
  const ActivitySample* const before = sample_before(kDropWindow);
  if (before == nullptr) return growing;
  const ActivitySample& now = samples_.back();
  for (std::size_t i = 0; i < now.causes.size(); ++i) {
    const auto cause = static_cast<lnet::Cause>(i);
    const std::uint64_t lately = growth(before->causes[i], now.causes[i]);
    if (lately == 0 || !is_loss(cause)) continue;
    growing.push_back({.cause = cause, .lately = lately, .ever = now.causes[i]});
  }
  std::ranges::sort(growing, [](const GrowingCause& one, const GrowingCause& other) {
    return std::pair(other.lately, one.cause) < std::pair(one.lately, other.cause);
  });
  return growing;
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/drain_log.hpp"

#include <string>
#include <utility>

namespace plnet::node {
namespace {

using runtime::LogLevel;
using runtime::LogSite;

constexpr LogSite kDraining{
    LogLevel::kInfo,
    "draining",
    {"phase", "acknowledged", "peers", "by_ping", "held", "unsent", "seconds_left"}};
constexpr LogSite kDrained{LogLevel::kInfo, "drained", {"cut_off", "not_acknowledged", "unsent"}};
constexpr LogSite kBrokenOff{LogLevel::kWarning, "drain_broken_off", {"held", "not_acknowledged"}};

constexpr const char* kUnknown = "unknown";  // the peers have not been counted, or not all
constexpr Duration kToldEach = std::chrono::seconds(1);  // period of progress lines

bool forwards(const lnet::StandingReport& report) {
  return report.state != lnet::RoutingState::kDisabled;
}

// Peers that may not know that this node stops routing.
std::string unsure(const lnet::StandingReport& report) {
  if (!report.told.counted) return kUnknown;
  return std::to_string(report.told.pushed - report.told.acknowledged + report.told.by_ping);
}

std::string unsent(const lnet::StandingReport& report) {
  return report.unsent_known ? std::to_string(report.load.unsent) : kUnknown;
}

}  // namespace

void DrainLog::say(const lnet::StandingReport& report) {
  if (over_) return;
  seen_ = report;
  const Instant now = clock_.now();
  if (said_at_ && now - *said_at_ < kToldEach) return;
  said_at_ = now;
  log_.write(kDraining, {report.text(), std::to_string(report.told.acknowledged),
                         std::to_string(report.told.pushed), std::to_string(report.told.by_ping),
                         std::to_string(report.load.held), std::to_string(report.load.unsent),
                         std::to_string(report.seconds_left)});
}

bool DrainLog::end(const lnet::StandingReport& report) {
  if (std::exchange(over_, true)) return false;
  // A node that did not route has no drain to report.
  if (forwards(seen_) || report.is_drain())
    log_.write(kDrained, {std::to_string(report.cut_off), unsure(report), unsent(report)});
  return true;
}

void DrainLog::break_off() {
  if (!std::exchange(over_, true) && forwards(seen_))
    log_.write(kBrokenOff, {std::to_string(seen_.load.held), unsure(seen_)});
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/plan.hpp"

#include <string>

namespace plnet::drivers {
namespace {

constexpr std::array<std::string_view, kFaultCount> kNames{
    "drop",    "delay", "duplicate", "reorder", "truncate",
    "corrupt", "stall", "reset",     "fail",    "split"};
constexpr std::array<std::string_view, 4> kSeams{"lnd", "stream", "verbs", "endpoint"};

// For each seam and fault: the directions that mean something (1 tx, 2 rx). Order as in Fault.
constexpr std::uint8_t kAllowed[4][kFaultCount] = {
    //  drop delay dup reorder trunc corrupt stall reset fail split
    {3, 3, 3, 3, 2, 2, 1, 2, 1, 0},  // lnd
    {0, 3, 0, 0, 1, 3, 3, 3, 0, 1},  // stream
    {0, 2, 0, 0, 0, 0, 1, 3, 2, 0},  // verbs
    {3, 2, 2, 2, 2, 2, 3, 0, 1, 0},  // endpoint
};

std::unexpected<Error> refuse(std::size_t index, const FaultRule& rule, const std::string& why) {
  return failure(Errc::kInvalid, "fault rule " + std::to_string(index + 1) + " (" +
                                     std::string(name_of(rule.fault)) + "): " + why);
}

}  // namespace

std::string_view name_of(Fault fault) {
  const auto index = static_cast<std::size_t>(fault);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string_view name_of(Seam seam) {
  return kSeams[static_cast<std::size_t>(seam)];
}

Outcome<void> check_plan(const FaultPlan& plan, Seam seam) {
  for (std::size_t i = 0; i < plan.count; ++i) {
    const FaultRule& rule = plan.rules[i];
    const std::uint8_t allowed =
        kAllowed[static_cast<std::size_t>(seam)][static_cast<std::size_t>(rule.fault)];
    const bool tx = rule.direction == Direction::kTx;
    if (allowed == 0) {
      return refuse(i, rule, "means nothing at the " + std::string(name_of(seam)) + " seam");
    }
    if ((allowed & (tx ? 1 : 2)) == 0) {
      return refuse(i, rule,
                    std::string("not possible for ") + (tx ? "tx" : "rx") + " at the " +
                        std::string(name_of(seam)) + " seam, expected " + (tx ? "rx" : "tx"));
    }
    if (!(rule.probability >= 0 && rule.probability <= 1)) {
      return refuse(i, rule, "probability out of range, expected 0 to 1");
    }
    if (rule.trigger != Trigger::kChance && rule.nth == 0) {
      return refuse(i, rule, "nth is 0, expected 1 or more");
    }
    if (rule.delay < Duration::zero()) return refuse(i, rule, "delay is negative");
    if (rule.nid && seam != Seam::kLnd) {
      return refuse(i, rule, "a NID is known at the lnd seam only, expected a stream");
    }
    if (rule.stream && seam == Seam::kLnd) {
      return refuse(i, rule, "a stream is not known at the lnd seam, expected a NID");
    }
  }
  return {};
}

}  // namespace plnet::drivers

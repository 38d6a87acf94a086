// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/faults/fault_rule.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "lib/base/check.hpp"
#include "lib/base/random.hpp"

namespace plnet::lnet {

namespace {

constexpr std::uint32_t kPortalBits = 64;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kHealthLast = static_cast<int>(kHealthCount) - 1;
// Another shard is drawing the next time.
constexpr std::int64_t kBeingDrawn = std::numeric_limits<std::int64_t>::max();

bool names(const Nid& pattern, const Nid& nid) {
  if (pattern.is_any() || pattern == nid) return true;
  return pattern.net() == nid.net() && pattern.address32() == 0xffffffff;
}

std::int64_t ns_of(Instant when) {
  return when.time_since_epoch().count();
}

}  // namespace

FaultRule::FaultRule(const FaultSpec& spec, std::uint64_t number, std::uint64_t seed, Instant now)
    : spec_(spec), number_(number), seed_(seed) {
  due_ns_.store(ns_of(now) + draw_wait_ns(), std::memory_order_relaxed);
  window_end_ns_.set(ns_of(now) + spec.interval_s * kSecond);
}

void FaultRule::reset(Instant now) {
  era_.fetch_add(1, std::memory_order_relaxed);
  matched_.store(0, std::memory_order_relaxed);
  struck_.store(0, std::memory_order_relaxed);
  for (Count& count : struck_of_)
    count.store(0, std::memory_order_relaxed);
  window_end_ns_.set(ns_of(now) + spec_.interval_s * kSecond);
  due_ns_.store(ns_of(now) + draw_wait_ns(), std::memory_order_relaxed);
}

std::uint64_t FaultRule::draw(std::uint64_t bound) {
  PLNET_CHECK(bound > 0, "a draw has a result");
  const std::uint64_t turn = draws_.fetch_add(1, std::memory_order_relaxed);
  return Random(seed_ + turn).below(bound);
}

// Whole seconds, as in the kernel: an interval of 1 begins at once.
std::int64_t FaultRule::draw_wait_ns() {
  if (spec_.interval_s == 0) return 0;
  return static_cast<std::int64_t>(draw(spec_.interval_s)) * kSecond;
}

bool FaultRule::matches(const MessageHeader& header, const Nid* local) const {
  const auto type = static_cast<std::uint32_t>(header.type);
  if (type > static_cast<std::uint32_t>(MessageType::kReply)) return false;
  if ((spec_.types & 1U << type) == 0) return false;
  if (!names(spec_.source, header.source) || !names(spec_.destination, header.destination)) {
    return false;
  }
  if (!spec_.local.is_any() && (local == nullptr || !names(spec_.local, *local))) return false;
  if (spec_.portals == 0) return true;
  const std::uint32_t portal = portal_of(header);
  return portal < kPortalBits && (spec_.portals >> portal & 1) != 0;
}

bool FaultRule::strikes(const MessageHeader& header, const Nid* local, FaultPlace place,
                        Instant now) {
  const Nid* const seen_on = spec_.kind == FaultKind::kDelay ? nullptr : local;
  if (!matches(header, seen_on)) return false;
  PLNET_CHECK(static_cast<std::size_t>(header.type) < std::size(struck_of_),
              "a message that matches has a counted type");
  if (!spec_.all) {
    const bool belongs = spec_.kind == FaultKind::kDelay ||
                         (place == FaultPlace::kSending) == (spec_.health_errors != 0);
    if (!belongs || !has_turn(now)) return false;
  }
  struck_of_[static_cast<std::size_t>(header.type)].fetch_add(1, std::memory_order_relaxed);
  struck_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool FaultRule::has_turn(Instant now) {
  if (spec_.random) return draw(spec_.interval_s) >= spec_.interval_s / 2;
  const std::uint64_t count = matched_.fetch_add(1, std::memory_order_relaxed);
  return spec_.interval_s != 0 ? is_due(ns_of(now)) : is_drawn(count);
}

// Draws one message of each block of N. For a fresh rule with N = 2 it is the first: tests of
// Lustre rely on that.
bool FaultRule::is_drawn(std::uint64_t count) {
  PLNET_CHECK(spec_.rate > 0, "a rule without an interval has a rate");
  const std::uint64_t block = count / spec_.rate;
  const std::uint64_t era = era_.load(std::memory_order_relaxed);
  if (spec_.rate == 2 && block == 0 && era == 0) return count == 0;
  const std::uint64_t mixed = SplitMix64(seed_ ^ era << 48 ^ block).next();
  return count % spec_.rate == Random(mixed).below(spec_.rate);
}

bool FaultRule::is_due(std::int64_t now_ns) {
  PLNET_CHECK(spec_.interval_s > 0, "a rule that waits has an interval");
  std::int64_t due = due_ns_.load(std::memory_order_relaxed);
  if (now_ns < due) return false;
  // One shard takes the draw.
  if (!due_ns_.compare_exchange_strong(due, kBeingDrawn, std::memory_order_acquire)) return false;
  const std::int64_t begin = std::max(window_end_ns_.get(), now_ns);
  window_end_ns_.set(begin + spec_.interval_s * kSecond);
  due_ns_.store(begin + draw_wait_ns(), std::memory_order_release);
  return true;
}

// lustre-release lnet/lnet/net_fault.c: lnet_fault_match_health()
Health FaultRule::draw_health() {
  const int drawn = std::max(static_cast<int>(draw(kHealthCount)), 1);
  int nearest = drawn;
  int distance = kHealthLast + 1;
  for (int bit = kHealthLast; bit > 0; --bit) {
    if ((spec_.health_errors >> bit & 1) == 0 || std::abs(drawn - bit) >= distance) continue;
    distance = std::abs(drawn - bit);
    nearest = bit;
  }
  PLNET_CHECK(nearest > 0 && nearest <= kHealthLast, "a failed message has a class of failure");
  return static_cast<Health>(nearest);
}

FaultCounts FaultRule::counts() const {
  const auto of = [this](MessageType type) {
    return struck_of_[static_cast<std::size_t>(type)].load(std::memory_order_relaxed);
  };
  return {.matched = matched_.load(std::memory_order_relaxed),
          .put = of(MessageType::kPut),
          .ack = of(MessageType::kAck),
          .get = of(MessageType::kGet),
          .reply = of(MessageType::kReply),
          .struck = struck_.load(std::memory_order_relaxed)};
}

}  // namespace plnet::lnet

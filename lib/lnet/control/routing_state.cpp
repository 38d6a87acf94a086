// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/routing_state.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

std::string_view text_of(RoutingState state) {
  switch (state) {
    case RoutingState::kDisabled: return "disabled";
    case RoutingState::kEnabled: return "enabled";
    case RoutingState::kStopping: return "stopping";
    case RoutingState::kStarting: return "starting";
  }
  return "disabled";
}

std::string_view text_of(DrainPhase phase) {
  switch (phase) {
    case DrainPhase::kNone: return "none";
    case DrainPhase::kNoticing: return "peers notice";
    case DrainPhase::kEmptying: return "emptying";
    case DrainPhase::kDrained: return "drained";
  }
  return "none";
}

void RoutingStateMachine::go(RoutingState state, Instant now) {
  if (state_ == RoutingState::kDisabled) began_ = now;
  state_ = state;
}

void RoutingStateMachine::begin_stop(Instant now, Duration notice) {
  PLNET_CHECK(state_ == RoutingState::kEnabled || state_ == RoutingState::kStarting,
              "a node that routes can stop");
  go(RoutingState::kStopping, now);
  cut_off_ = 0;
  noticed_ = now + notice;
  latest_ = now + patience(notice);
}

void RoutingStateMachine::set(bool on, Instant now) {
  if (leaves_) return;
  phase_ = DrainPhase::kNone;
  cut_off_ = 0;
  go(on ? RoutingState::kEnabled : RoutingState::kDisabled, now);
}

Result<void> RoutingStateMachine::enable(Instant now) {
  if (leaves_) return std::unexpected(Errc::kBusy);
  // The node has forwarded all the time.
  if (state_ == RoutingState::kStopping) set(true, now);
  if (state_ == RoutingState::kDisabled) go(RoutingState::kStarting, now);
  phase_ = DrainPhase::kNone;
  cut_off_ = 0;
  return {};
}

void RoutingStateMachine::disable(Instant now, Duration notice) {
  if (leaves_) return;
  if (phase_ == DrainPhase::kDrained) phase_ = DrainPhase::kNone;
  if (state_ == RoutingState::kDisabled) return;
  if (state_ != RoutingState::kStopping) return begin_stop(now, notice);
  if (phase_ == DrainPhase::kNone) return;
  // The bound of a drain may be a day.
  latest_ = std::min(latest_, now + patience(notice));
  if (phase_ == DrainPhase::kEmptying) noticed_ = std::min(noticed_, now + kQuiet);
  phase_ = DrainPhase::kNone;
}

Result<void> RoutingStateMachine::drain(Instant now, Duration notice, Duration bound,
                                        bool full_notice) {
  if (phase_ == DrainPhase::kDrained) return {};
  if (phase_ != DrainPhase::kNone) {
    latest_ = now + bound;
    full_notice_ = full_notice;
    return {};
  }
  if (state_ == RoutingState::kDisabled) return std::unexpected(Errc::kInvalid);
  const bool stops = state_ == RoutingState::kStopping;
  if (!stops) begin_stop(now, notice);
  PLNET_CHECK(phase_ == DrainPhase::kNone && state_ == RoutingState::kStopping,
              "a drain is a stop with notice");
  phase_ = DrainPhase::kNoticing;
  full_notice_ = full_notice;
  latest_ = stops ? std::min(latest_, now + bound) : now + bound;
  return {};
}

Result<void> RoutingStateMachine::leave(Instant now, Duration notice, Duration bound,
                                        bool full_notice) {
  if (auto drained = drain(now, notice, bound, full_notice); !drained) return drained;
  leaves_ = true;
  return {};
}

Result<void> RoutingStateMachine::undrain(Instant now) {
  const bool stops = state_ == RoutingState::kStopping || phase_ == DrainPhase::kDrained;
  return stops ? enable(now) : Result<void>(std::unexpected(Errc::kInvalid));
}

bool RoutingStateMachine::step(Instant now, const RoutedLoad& load, const PeersTold& told) {
  PLNET_CHECK(phase_ == DrainPhase::kNone || state_ == RoutingState::kStopping ||
                  phase_ == DrainPhase::kDrained,
              "a drain is under way only while the node stops");
  if (state_ == RoutingState::kStarting) {
    go(RoutingState::kEnabled, now);
    return true;
  }
  if (state_ != RoutingState::kStopping) return false;
  if (now < latest_ && !has_emptied(now, load, told)) return false;
  PLNET_CHECK(phase_ != DrainPhase::kDrained, "a node that stops is not drained yet");
  cut_off_ = load.held;
  if (phase_ != DrainPhase::kNone) phase_ = DrainPhase::kDrained;
  go(RoutingState::kDisabled, now);
  return true;
}

bool RoutingStateMachine::has_emptied(Instant now, const RoutedLoad& load, const PeersTold& told) {
  PLNET_CHECK(state_ == RoutingState::kStopping, "a node empties while it stops");
  if (phase_ == DrainPhase::kNone) return now >= noticed_ && load.held == 0;
  if (phase_ == DrainPhase::kNoticing) {
    if (now < noticed_ && (full_notice_ || !told.all())) return false;
    phase_ = DrainPhase::kEmptying;
    quiet_since_ = now;
    taken_ = load.taken;
  }
  if (taken_ != load.taken || load.held != 0) {
    taken_ = load.taken;
    quiet_since_ = now;
  }
  PLNET_CHECK(quiet_since_ <= now, "the last message left before now");
  return now >= quiet_since_ + kQuiet && load.unsent_since >= quiet_since_ && load.unsent == 0;
}

}  // namespace plnet::lnet

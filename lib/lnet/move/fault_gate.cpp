// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/fault_gate.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/move/ni_port.hpp"

namespace plnet::lnet {

namespace {
constexpr Instant kAtOnce = Instant::min();
}

FaultGate::FaultGate(const std::atomic<const FaultView*>& view, Counters<LnetCauses>& causes,
                     std::size_t parcels)
    : view_(view), causes_(causes), held_max_(std::min(kHeldMax, parcels)) {
  held_.reserve(held_max_);
}

std::optional<Cause> FaultGate::drops(const MessageHeader& header, const Nid& local,
                                      Instant now) const {
  const FaultView* const view = rules();
  if (view == nullptr) return std::nullopt;
  if (view->fails(header.source)) return Cause::kDroppedFailNid;
  if (view->drop(header, &local, FaultPlace::kArriving, now) != nullptr) {
    return Cause::kDroppedFaultRule;
  }
  return std::nullopt;
}

bool FaultGate::hold(const Held& held) {
  if (held_.size() == held_max_) {
    causes_.add(Cause::kFaultsFull);
    return false;
  }
  PLNET_CHECK(held.parcel != nullptr && !held.parcel->linked(), "a held message waits in no queue");
  PLNET_DEBUG_CHECK(std::ranges::find(held_, held.parcel, &Held::parcel) == held_.end(),
                    "the gate holds a message once");
  held_.push_back(held);
  return true;
}

bool FaultGate::delays(Parcel& parcel, const MessageHeader& header, FaultPlace place, Instant now) {
  const FaultView* const view = rules();
  if (view == nullptr) return false;
  const FaultRule* const rule = view->delay(header, place, now);
  if (rule == nullptr) return false;
  const Duration latency = std::chrono::seconds(rule->spec().latency_s);
  if (!hold({.parcel = &parcel, .due = now + latency, .rule = rule->number()})) return false;
  causes_.add(Cause::kDelayedByRule);
  return true;
}

bool FaultGate::delays(Receive& receive, Instant now) {
  return delays(receive, receive.header, FaultPlace::kArriving, now);
}

bool FaultGate::delays(Message& message, Instant now) {
  return delays(message, message.header, FaultPlace::kSending, now);
}

bool FaultGate::fails(Message& message, Instant now) {
  const FaultView* const view = rules();
  if (view == nullptr) return false;
  FaultRule* const rule = view->drop(message.header, nullptr, FaultPlace::kSending, now);
  if (rule == nullptr) return false;
  if (!hold({.parcel = &message, .due = kAtOnce, .health = rule->draw_health()})) return false;
  causes_.add(Cause::kTxFaultRule);
  return true;
}

// Messages that a removed rule held go on.
void FaultGate::look_at_rules() {
  const FaultView* const view = rules();
  const std::uint64_t version = view == nullptr ? 0 : view->version;
  if (version == seen_version_) return;
  seen_version_ = version;
  for (Held& held : held_) {
    if (held.rule == 0 || (view != nullptr && view->has_delay(held.rule))) continue;
    held.due = kAtOnce;
    held.dropped = held.dropped || (view != nullptr && view->closing);
  }
}

Released FaultGate::next(Instant now) {
  look_at_rules();
  const auto due = std::ranges::find_if(held_, [now](const Held& held) { return held.due <= now; });
  if (due == held_.end()) return {};
  const Released released{.parcel = due->parcel, .health = due->health, .dropped = due->dropped};
  PLNET_CHECK(released.health == Health::kOk || released.parcel->kind == ParcelKind::kMessage,
              "only messages that leave fail by a rule");
  held_.erase(due);
  return released;
}

void FaultGate::close(const Ni& ni) {
  for (Held& held : held_) {
    PLNET_CHECK(
        held.parcel->kind == ParcelKind::kReceive || held.parcel->kind == ParcelKind::kMessage,
        "the gate holds messages");
    const bool receives = held.parcel->kind == ParcelKind::kReceive;
    const Ni& used = receives ? static_cast<const Receive*>(held.parcel)->port->ni()
                              : *static_cast<const Message*>(held.parcel)->ni;
    if (&used != &ni) continue;
    held.due = kAtOnce;
    held.dropped = true;
  }
}

void FaultGate::release(const PeerNi& peer_ni) {
  for (Held& held : held_) {
    const bool sends = held.parcel->kind == ParcelKind::kMessage;
    if (sends && static_cast<const Message*>(held.parcel)->hop == &peer_ni) held.due = kAtOnce;
  }
}

Instant FaultGate::next_deadline() const {
  Instant next = Instant::max();
  for (const Held& held : held_)
    next = std::min(next, held.due);
  return next;
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/link_watch.hpp"

#include <utility>

namespace plnet::kfilnd {

// While the link is down its address means nothing; it is looked at when the link is back.
void LinkWatch::on_link(bool usable, std::uint64_t nic_address) {
  const Instant now = environment_.now;
  if (!usable) {
    environment_.count(Id::kLinkDown);
    if (std::exchange(rises_, false)) (void)link_hold_.see(true, now);
    (void)link_hold_.see(false, now);
    return environment_.core.on_interface(lnet::InterfaceState::kFatal, Errc::kNetworkDown);
  }
  if (!link_hold_.bounces()) {
    (void)link_hold_.see(true, now);
  } else if (!std::exchange(rises_, true)) {
    environment_.count(Id::kLinkHeld);
  }
  if (nic_address == environment_.nic_address.get()) return tell_core();
  const bool first = !environment_.has_moved();
  environment_.nic_address.set(nic_address);
  if (environment_.has_moved()) {
    // The node has another NID now: this interface ends, and the node makes another one. Messages
    // that arrive under the old NID get no answer.
    environment_.count(Id::kAddressChanged);
    peers_.wake_all();
  }
  if (first || !environment_.has_moved()) tell_core();
}

// Each change of a bouncing link would be told to all our peers. An interface that ends does so
// whatever the state of its link.
void LinkWatch::tell_core() {
  if (environment_.has_moved())
    return environment_.core.on_interface(lnet::InterfaceState::kFatal, Errc::kStale);
  if (!link_hold_.bounces())
    environment_.core.on_interface(lnet::InterfaceState::kUp, Errc::kStale);
}

void LinkWatch::look() {
  if (environment_.now < next_look()) return;
  rises_ = false;
  if (link_hold_.see(true, environment_.now)) tell_core();
}

std::optional<lnet::Nid> LinkWatch::moved_to() const {
  const std::uint64_t now = environment_.nic_address.get();
  if (now == environment_.own_nic_address || now > UINT32_MAX) return std::nullopt;
  return lnet::Nid::of(lnet::NetType::kKfi, environment_.config.nid.number(),
                       static_cast<std::uint32_t>(now));
}

}  // namespace plnet::kfilnd

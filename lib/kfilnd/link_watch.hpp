// SPDX-License-Identifier: BSD-3-Clause
// The link and the address of our NIC, as the driver reports them, and what the core is told.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/link_hold.hpp"
#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/peers.hpp"

namespace plnet::kfilnd {

class LinkWatch {
 public:
  LinkWatch(Environment& environment, Peers& peers) : environment_(environment), peers_(peers) {}

  void on_link(bool usable, std::uint64_t nic_address);
  // A link that has bounced is reported up when it has stayed up for a while.
  void look();
  // The time of the next look(); Instant::max(): none is due.
  [[nodiscard]] Instant next_look() const {
    return rises_ ? Instant::min() : link_hold_.release_at();
  }
  // The NID of the NIC's present address, if it is another one than ours. Any thread.
  [[nodiscard]] std::optional<lnet::Nid> moved_to() const;

 private:
  using Id = KfiLndCounters::Id;

  void tell_core();

  Environment& environment_;
  Peers& peers_;
  LinkHold link_hold_;
  bool rises_ = false;  // a bouncing link is back; the next flush looks at it
};

}  // namespace plnet::kfilnd

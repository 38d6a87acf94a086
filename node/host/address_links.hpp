// SPDX-License-Identifier: BSD-3-Clause
// The link state of NIs with IP addresses as the system reports it, for the LNDs of all shards and
// for reports. Owned by the admin thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/link_hold.hpp"
#include "lib/lnet/names/nid.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

class LnetDesk;

class AddressLinks {
 public:
  // Sets the link of an NI on the shard that calls it.
  using Tell = std::function<void(unsigned shard, const lnet::Nid& nid, bool up)>;

  // Looks up whether the address of each NI is on an interface that is up, and calls `tell` for
  // each NI on each shard.
  void look(LnetDesk& desk, std::span<const lnet::Nid> nis, Instant now, const LinkSaid& said,
            Tell tell);
  // The time of the next look without a notification of the system; Instant::max(): none.
  [[nodiscard]] Instant look_again_at() const;
  // The cause of a link that is down; "" if it is up or unknown.
  [[nodiscard]] std::string_view cause_of(const lnet::Nid& nid) const;

 private:
  struct Link {
    lnet::Nid nid;
    LinkHold hold{};
    std::string_view cause{};
    bool hold_told = false;  // reported as held down
  };

  std::vector<Link> links_;  // in the order of the last look
  Instant looks_again_at_ = Instant::max();
};

// The interface that is up and has the address of this NID; empty if none has it, or only the
// loopback interface.
[[nodiscard]] std::string interface_of(const lnet::Nid& nid);

}  // namespace plnet::node

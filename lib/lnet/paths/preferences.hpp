// SPDX-License-Identifier: BSD-3-Clause
// The preferences of the administrator's rules (UDSP) for a peer NI as destination: NIDs of this
// node to send from, and gateways by their primary NID. Immutable once attached to a peer NI.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

class Preferences {
 public:
  Preferences(std::vector<Nid> local_nids, std::vector<Nid> routers)
      : local_nids_(std::move(local_nids)), routers_(std::move(routers)) {}

  [[nodiscard]] bool prefers(const Nid& local_nid) const {
    return std::ranges::find(local_nids_, local_nid) != local_nids_.end();
  }
  [[nodiscard]] bool prefers_router(const Nid& primary) const {
    return std::ranges::find(routers_, primary) != routers_.end();
  }
  [[nodiscard]] const std::vector<Nid>& local_nids() const { return local_nids_; }
  [[nodiscard]] const std::vector<Nid>& routers() const { return routers_; }

 private:
  std::vector<Nid> local_nids_;
  std::vector<Nid> routers_;
};

}  // namespace plnet::lnet

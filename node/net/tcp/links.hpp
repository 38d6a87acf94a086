// SPDX-License-Identifier: BSD-3-Clause
// Whether the interfaces of TCP NIs are there, as the system has it: told to the LNDs of all
// shards, and with words to whoever asks. The admin thread's.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/base/link_hold.hpp"
#include "lib/lnet/names/nid.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

class LnetDesk;
class TcpHost;

class TcpLinks {
 public:
  // Looks which of these NIs have their address on an interface that is up.
  void look(LnetDesk& desk, TcpHost& tcp, std::span<const lnet::Nid> nis, Instant now,
            const LinkSaid& said);
  // When to look again though the system has told nothing; Instant::max(): no need.
  [[nodiscard]] Instant look_again_at() const;
  // Why it cannot be used; "": it can, or was not looked at.
  [[nodiscard]] std::string_view cause_of(const lnet::Nid& nid) const;

 private:
  struct Link {
    lnet::Nid nid;
    LinkHold hold{};
    std::string_view cause{};
    bool hold_told = false;  // that it is held
  };

  std::vector<Link> links_;  // in the order of the last look
  Instant looks_again_at_ = Instant::max();
};

}  // namespace plnet::node

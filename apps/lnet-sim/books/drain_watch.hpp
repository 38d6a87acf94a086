// SPDX-License-Identifier: BSD-3-Clause
// Routers that are taken out of service, and the check that no message is lost by it: from the
// moment when a router reports that it is drained until it is back, no node sends it messages to
// forward. Later ones are lost whatever their sender is told, since a transport accepts a message
// before its fate is known. Exceptions are senders whose path to the router suffered another fault
// meanwhile, or so shortly before that messages may still wait for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::sim {

class DrainWatch {
 public:
  // `lasting`: the time that a message may wait for a disturbed path.
  DrainWatch(std::uint32_t nodes, Duration lasting)
      : lasting_(lasting), drains_(nodes), failed_(nodes, kNever) {}

  // `not_routing`: messages that the router has dropped so far because it does not route.
  void begin(std::uint32_t router, std::uint64_t cookie, Instant now, Instant latest,
             std::uint64_t not_routing);
  // True for this incarnation of the router.
  [[nodiscard]] bool is_draining(std::uint32_t router, std::uint64_t cookie) const {
    return cookie != 0 && drains_[router].cookie == cookie;
  }
  // The router reports that it is drained. False: after its time limit, so the check does not
  // apply.
  bool promise(std::uint32_t router, Instant now, std::size_t cut_off);
  // The router forwards again, or has failed. `not_routing`: the present count.
  void end(std::uint32_t router, std::uint64_t not_routing);

  // Messages between the two nodes may be lost or late. Either may be the router.
  void trouble(std::uint32_t a, std::uint32_t b, Instant now);
  // The same between the node and all others.
  void trouble(std::uint32_t node, Instant now);

  // `node` has sent a message to its next hop, or failed to.
  void sent(std::uint32_t node, const lnet::Nid& next_hop, const lnet::MessageHeader& header);
  // `node` has dropped a message that it would have had to forward, on arrival or after a wait.
  void refused(std::uint32_t node, const lnet::Nid& from, const lnet::Nid& destination);

  // The first unexplained loss, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  struct Drain {
    std::uint64_t cookie = 0;  // 0: no drain
    Instant latest{};          // the check does not apply from then on
    std::uint64_t not_routing = 0;
    bool promised = false;
    std::vector<bool> excused;          // indexed by sender
    std::string refused;                // the first one before the report arrived here
    std::uint64_t refused_excused = 0;  // of excused senders
  };

  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  static constexpr Instant kNever = Instant::min();

  void excuse(std::uint32_t a, std::uint32_t b);
  void hold_against(std::uint32_t router, std::uint32_t sender, const char* what,
                    const lnet::Nid& destination);

  const Duration lasting_;
  std::vector<Drain> drains_;    // indexed by node
  std::vector<Instant> failed_;  // indexed by node: the last trouble with all others
  std::map<Pair, Instant> troubled_;
  std::string wrong_;
};

}  // namespace plnet::sim

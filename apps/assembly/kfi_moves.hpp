// SPDX-License-Identifier: BSD-3-Clause
// A cable leads elsewhere: the NIC has another address, and each NI of a kfi network on it goes, to
// come back under the NID that is then right, with the routes and peers that had to go with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::apps {

// An NI that is not where its NID says.
struct MovedNi {
  lnet::NetId net = 0;
  std::string interface;
  lnet::Nid was;
  lnet::Nid now;
  friend bool operator==(const MovedNi&, const MovedNi&) = default;
};

// The address of an interface now; nothing: it is no NIC of ours, or does not say.
using AddressOfNic = std::function<std::optional<std::uint32_t>(const std::string& interface)>;

[[nodiscard]] std::vector<MovedNi> moved_nis(const lnet::NodeConfig& config,
                                             const AddressOfNic& address_of);

// What was taken out of a configuration with an NI, as it stood there.
struct TakenOut {
  lnet::NetId net = 0;
  lnet::NiConfig ni;
  std::vector<lnet::RouteConfig> routes{};  // by gateways of a network that went with it
  std::vector<lnet::PeerConfig> peers{};    // with NIDs there
};

// The NI is there.
[[nodiscard]] TakenOut take_out(lnet::NodeConfig& config, const lnet::Nid& nid);
// As the NI's interface, which may have another NID by now: `ni.nid` is left to whoever assigns
// them. What somebody else has configured meanwhile stays as it is. kExists: that is its process on
// the interface.
[[nodiscard]] Outcome<void> bring_back(lnet::NodeConfig& config, const TakenOut& out);

#define PLNET_KFI_MOVE_COUNTERS(X)                                                     \
  X(kMoved, "nis_moved", "interfaces", kCount, "NIs that came back under another NID") \
  X(kMoving, "nis_moving", "interfaces", kGauge, "NIs that went and are not back yet")
PLNET_COUNTERS(KfiMoveCounters, PLNET_KFI_MOVE_COUNTERS);

// Where the NIs of a node stand with that. The admin thread's.
struct KfiMoves {
  struct Out {
    lnet::Nid was;
    TakenOut what;
    std::string complaint{};  // said last
  };
  void forget() {
    seen.clear();
    out.clear();
    count();
  }
  void count() { counters.set(KfiMoveCounters::Id::kMoving, out.size()); }
  // What could not come back: others are tried before it.
  void put_last(const lnet::Nid& was);
  // Of the two things that can be done next, if both can: by turns, so that neither holds up the
  // other for good.
  [[nodiscard]] bool is_turn_to_bring_back(bool some_ready, bool some_moved);

  std::vector<MovedNi> seen;  // by the last look: one is believed when it is seen twice
  std::vector<Out> out;
  bool changing = false;  // one of them, just now
  bool brought_back_last = false;
  Counters<KfiMoveCounters> counters;
};

}  // namespace plnet::apps

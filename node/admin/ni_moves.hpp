// SPDX-License-Identifier: BSD-3-Clause
// The address of an interface changes: each NI on it is removed, and added again under its new NID
// with the routes and peers that were removed with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

// The NID of an NI by its interface now; nothing: unknown, or it cannot change.
using NidNow =
    std::function<std::optional<lnet::Nid>(const lnet::NetConfig&, const lnet::NiConfig&)>;

[[nodiscard]] std::vector<MovedNi> moved_nis(const lnet::NodeConfig& config, const NidNow& nid_now);

// What was taken out of a configuration with an NI, as it stood there.
struct TakenOut {
  lnet::NetId net = 0;
  lnet::NiConfig ni;
  std::vector<lnet::RouteConfig> routes{};  // by gateways of a network that went with it
  std::vector<lnet::PeerConfig> peers{};    // with NIDs there
};

// The NI is there.
[[nodiscard]] TakenOut take_out(lnet::NodeConfig& config, const lnet::Nid& nid);
// Adds the NI without a NID, for its interface to say. Changes of others meanwhile stay. The error
// is that of `fits`, and then nothing was added.
using Fits = std::function<Outcome<void>(const lnet::NodeConfig&)>;
[[nodiscard]] Outcome<void> bring_back(lnet::NodeConfig& config, const TakenOut& out,
                                       const Fits& fits);

#define PLNET_NI_MOVE_COUNTERS(X)                                                      \
  X(kMoved, "nis_moved", "interfaces", kCount, "NIs that came back under another NID") \
  X(kMoving, "nis_moving", "interfaces", kGauge, "NIs that went and are not back yet")
PLNET_COUNTERS(NiMoveCounters, PLNET_NI_MOVE_COUNTERS);

// Where the NIs of a node stand with that. The admin thread's.
struct NiMoves {
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
  void count() { counters.set(NiMoveCounters::Id::kMoving, out.size()); }
  // What could not come back: others are tried before it.
  void put_last(const lnet::Nid& was);
  // Of the two things that can be done next, if both can: by turns, so that neither holds up the
  // other for good.
  [[nodiscard]] bool is_turn_to_bring_back(bool some_ready, bool some_moved);

  std::vector<MovedNi> seen;  // by the last look: one is believed when it is seen twice
  std::vector<Out> out;
  bool changing = false;  // one of them, just now
  bool brought_back_last = false;
  Counters<NiMoveCounters> counters;
};

}  // namespace plnet::node

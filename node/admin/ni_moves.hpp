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

// The present NID of an NI's interface; nullopt if it is unknown or cannot change.
using NidNow =
    std::function<std::optional<lnet::Nid>(const lnet::NetConfig&, const lnet::NiConfig&)>;

[[nodiscard]] std::vector<MovedNi> moved_nis(const lnet::NodeConfig& config, const NidNow& nid_now);

// The parts of a configuration that are removed with an NI, unchanged.
struct TakenOut {
  lnet::NetId net = 0;
  lnet::NiConfig ni;
  std::vector<lnet::RouteConfig> routes{};  // by gateways on a network that is removed with it
  std::vector<lnet::PeerConfig> peers{};    // with NIDs there
};

// `config` has the NI.
[[nodiscard]] TakenOut take_out(lnet::NodeConfig& config, const lnet::Nid& nid);
// Adds the NI without a NID, which its interface determines. Other changes of `config` since then
// stay. Fails with the error of `fits`, and adds nothing then.
using Fits = std::function<Outcome<void>(const lnet::NodeConfig&)>;
[[nodiscard]] Outcome<void> bring_back(lnet::NodeConfig& config, const TakenOut& out,
                                       const Fits& fits);

#define PLNET_NI_MOVE_COUNTERS(X)                                                      \
  X(kMoved, "nis_moved", "interfaces", kCount, "NIs that came back under another NID") \
  X(kMoving, "nis_moving", "interfaces", kGauge, "NIs that went and are not back yet")
PLNET_COUNTERS(NiMoveCounters, PLNET_NI_MOVE_COUNTERS);

// The state of all moves. Owned by the admin thread.
struct NiMoves {
  struct Out {
    lnet::Nid was;
    TakenOut what;
    std::string complaint{};  // logged last
  };
  void forget() {
    seen.clear();
    out.clear();
    count();
  }
  void count() { counters.set(NiMoveCounters::Id::kMoving, out.size()); }
  // After a failure: others are tried first.
  void put_last(const lnet::Nid& was);
  // Chooses between bringing an NI back and taking one out. If both are possible they alternate, so
  // that neither waits for ever.
  [[nodiscard]] bool is_turn_to_bring_back(bool some_ready, bool some_moved);

  std::vector<MovedNi> seen;  // by the last look; a move counts when two looks in a row see it
  std::vector<Out> out;
  bool changing = false;  // a change is under way
  bool brought_back_last = false;
  Counters<NiMoveCounters> counters;
};

}  // namespace plnet::node

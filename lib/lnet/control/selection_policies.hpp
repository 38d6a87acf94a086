// SPDX-License-Identifier: BSD-3-Clause
// User-defined selection policies (UDSP) in use: rules about networks and NIs of this node and of
// peers become the priorities and preferences that path selection reads. Of several policies that
// match, the first one decides.
//
// Objects of this node follow a change at once; step() goes through the peers, a bounded number
// each time. A new peer NI gets its values at once. The NIs and gateways that a policy includes are
// computed beforehand, so a change of those is a change of policies, too. Control path: allocates;
// for a new peer NI only if it is the first with its policies. Checked against lustre-release
// lnet/lnet/udsp.c: lnet_udsp_apply_single_policy(). The kernel knows a gateway by its primary NID
// only; here any NID of it counts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/qsbr.hpp"
#include "lib/lnet/control/routes.hpp"
#include "lib/lnet/paths/preferences.hpp"
#include "lib/lnet/paths/udsp.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

// The values of a new peer NI.
struct PeerWelcome {
  std::uint32_t net_priority = kPriorityLowest;
  std::uint32_t priority = kPriorityLowest;
  std::optional<Preferences> preferences{};  // absent: no preferences
};

class SelectionPolicies {
 public:
  SelectionPolicies(PeerDirectory& directory, const Routes& routes, Qsbr& qsbr)
      : directory_(directory), routes_(routes), qsbr_(qsbr), current_(std::make_unique<Meant>()) {}

  // Replaces the policies by these, in this order. Equal policies change nothing.
  void set(std::span<const Udsp> policies, const LocalView& local);
  [[nodiscard]] std::span<const Udsp> list() const { return policies_; }
  // True until every peer has the values of the policies.
  [[nodiscard]] bool sweeping() const { return look_at_gateways_ || sweep_ < directory_.numbers(); }

  // An NI or a network was added or removed.
  void local_changed(const LocalView& local);
  // A route was added or removed, or the NIDs of a gateway have changed, or will with the next
  // views. step() looks.
  void gateways_changed();
  void apply(PeerNi& ni);
  [[nodiscard]] PeerWelcome welcome(const Nid& nid) const;
  [[nodiscard]] std::uint32_t priority_of_peer_net(NetId net) const {
    return priority_by(&Udsp::destination, net);
  }

  // Does a bounded piece. Returns the work done.
  unsigned step();
  // There is work now; there is work that waits for readers or for the views of others, so step()
  // should be called again soon.
  [[nodiscard]] bool has_work() const { return sweeping() && !directory_.has_late_views(); }
  [[nodiscard]] bool waiting() const { return !old_.empty() || sweeping(); }

 private:
  // The deciding policy about NIs, and the one about routers.
  using Deciders = std::pair<std::size_t, std::size_t>;

  // For each policy: the present contents of its lists, and the preferences made of them. Peer NIs
  // point into them.
  struct Meant {
    std::vector<std::vector<Nid>> sources;
    std::vector<std::vector<Nid>> routers;
    std::map<Deciders, std::unique_ptr<const Preferences>> made{};
    Qsbr::Grace grace = 0;
  };

  using RangeOf = std::optional<UdspRange> Udsp::*;

  [[nodiscard]] std::uint32_t priority_by(RangeOf range, NetId net) const;
  [[nodiscard]] std::uint32_t priority_by(RangeOf range, const Nid& nid) const;
  [[nodiscard]] std::vector<std::vector<Nid>> sources_meant(const LocalView& local) const;
  [[nodiscard]] std::vector<std::vector<Nid>> routers_meant() const;
  void replace(std::vector<std::vector<Nid>> sources, std::vector<std::vector<Nid>> routers);
  void apply(const LocalView& local) const;
  std::size_t apply(PeerRecord& peer);
  void look_at_gateways();
  [[nodiscard]] Deciders nobody() const { return {policies_.size(), policies_.size()}; }
  [[nodiscard]] Deciders deciders_of(const Nid& peer_nid) const;
  [[nodiscard]] Preferences made_of(const Deciders& deciders) const;
  [[nodiscard]] const Preferences* preferences_of(const Nid& peer_nid);

  PeerDirectory& directory_;
  const Routes& routes_;
  Qsbr& qsbr_;
  std::vector<Udsp> policies_;
  std::unique_ptr<Meant> current_;
  std::vector<std::unique_ptr<Meant>> old_;  // peer NIs or readers may still point into them
  std::uint32_t sweep_ = UINT32_MAX;         // the number of the next peer
  bool look_at_gateways_ = false;
};

}  // namespace plnet::lnet

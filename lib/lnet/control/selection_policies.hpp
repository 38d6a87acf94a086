// SPDX-License-Identifier: BSD-3-Clause
// User-defined selection policies (UDSP) at work: what they say of our networks and NIs, of peers'
// networks and NIs, becomes the priorities and preferences that path selection reads. Of several
// that fit, the first one decides.
//
// What belongs to this node follows a change at once; peers are looked at anew in step(), a bounded
// number each time. A peer NI that comes is told at once. Which of our NIs a policy means, and
// which gateways, is found out beforehand, so a change of those is a change of policies, too.
// Control path: allocates, but for a peer NI that comes only if it is the first with its policies.
// Checked against lustre-release lnet/lnet/udsp.c: lnet_udsp_apply_single_policy(). The kernel
// knows a gateway by its primary NID only; here any NID of it will do.
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

// What a peer NI gets that comes.
struct PeerWelcome {
  std::uint32_t net_priority = kPriorityLowest;
  std::uint32_t priority = kPriorityLowest;
  std::optional<Preferences> preferences{};  // absent: nothing is preferred
};

class SelectionPolicies {
 public:
  SelectionPolicies(PeerDirectory& directory, const Routes& routes, Qsbr& qsbr)
      : directory_(directory), routes_(routes), qsbr_(qsbr), current_(std::make_unique<Meant>()) {}

  // These policies, in this order, instead of those that there are. The same again is nothing new.
  void set(std::span<const Udsp> policies, const LocalView& local);
  [[nodiscard]] std::span<const Udsp> list() const { return policies_; }
  // True until every peer has what the policies say.
  [[nodiscard]] bool sweeping() const { return look_at_gateways_ || sweep_ < directory_.numbers(); }

  // After an NI or a network has come or gone.
  void local_changed(const LocalView& local);
  // A route has come or gone, or a gateway may have other NIDs than before, or will when views are
  // published. step() looks.
  void gateways_changed();
  void apply(PeerNi& ni);
  [[nodiscard]] PeerWelcome welcome(const Nid& nid) const;
  [[nodiscard]] std::uint32_t priority_of_peer_net(NetId net) const {
    return priority_by(&Udsp::destination, net);
  }

  // A bounded piece. Returns the work done.
  unsigned step();
  // There is something to do now; something waits for readers, or for others' views, so that step()
  // should be called again soon.
  [[nodiscard]] bool has_work() const { return sweeping() && !directory_.has_late_views(); }
  [[nodiscard]] bool waiting() const { return !old_.empty() || sweeping(); }

 private:
  // Of a policy about NIs and one about routers, those that decide.
  using Deciders = std::pair<std::size_t, std::size_t>;

  // By policy, what its lists come to now, and the preferences that were made of them. Peer NIs
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
  std::vector<std::unique_ptr<Meant>> old_;  // peer NIs may still point into them, or readers
  std::uint32_t sweep_ = UINT32_MAX;         // the number of the peer that is next
  bool look_at_gateways_ = false;
};

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/path_report.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/control/selection_policies.hpp"
#include "lib/lnet/move/header_rules.hpp"
#include "lib/lnet/move/shard_core.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

namespace {

std::string name_of(const Route& route) {
  return fmt::format("{} by {}", text_of_net(route.spec.net), text_of(route.spec.gateway));
}
std::string name_of(const Ni& ni) {
  return text_of(ni.nid);
}
std::string name_of(const PeerNi& ni) {
  return text_of(ni.nid);
}
std::string name_of(const PeerNetView& net) {
  return text_of_net(net.net);
}

class Notes final : public PathTrace {
 public:
  Notes(std::vector<PathAlternative>& notes, const RouteTroubles* troubles)
      : notes_(notes), troubles_(troubles) {}

  void lost(const Ni& loser, const Ni& winner, Criterion by) override {
    note("NI", loser, winner, by);
  }
  void lost(const PeerNi& loser, const PeerNi& winner, Criterion by) override {
    note("peer NI", loser, winner, by);
  }
  void lost(const PeerNetView& loser, const PeerNetView& winner, Criterion by) override {
    note("network", loser, winner, by);
  }
  void lost(const Route& loser, const Route& winner, Criterion by) override {
    note("route", loser, winner, by);
  }
  void excluded(const PeerNetView& net, Exclusion why) override {
    notes_.push_back({"network", name_of(net), std::string(text_of(why)), std::nullopt});
  }
  void excluded(const Route& route, Exclusion why) override {
    std::string words(text_of(why));
    if (why == Exclusion::kRouteDown) words += text_of_trouble(route);
    notes_.push_back({"route", name_of(route), std::move(words), std::nullopt});
  }

 private:
  template <class Thing>
  void note(const char* kind, const Thing& loser, const Thing& winner, Criterion by) {
    notes_.push_back({kind, name_of(loser), std::string(text_of(by)), name_of(winner)});
  }
  // Routes may have changed since the coordinator was asked.
  [[nodiscard]] std::string text_of_trouble(const Route& route) const {
    if (troubles_ == nullptr || route.number >= troubles_->size()) return {};
    const RouteTrouble& trouble = (*troubles_)[route.number];
    if (trouble.route.net != route.spec.net || trouble.route.gateway != route.spec.gateway)
      return {};
    std::string words;
    if (trouble.cause != RouteCause::kNone) words = fmt::format(": {}", text_of(trouble.cause));
    if (trouble.answers_wanted > 0)
      words += fmt::format("; checks to answer: {}", trouble.answers_wanted);
    return words;
  }

  std::vector<PathAlternative>& notes_;
  const RouteTroubles* const troubles_;
};

// A peer that does not exist yet, as the first message would make it: one NI, not multi-rail.
class Stranger {
 public:
  Stranger(const Nid& nid, const LocalView& local, const PeerWelcome* welcome) {
    ni_.nid = nid;
    ni_.net = nid.net();
    if (const Net* const net = local.net(ni_.net)) {
      ni_.tx_credits_max.set(net->nis.front()->tunables.peer_credits);
      ni_.tx_credits.set(ni_.tx_credits_max.get());
    }
    ni_.peer.store(&peer_, std::memory_order_relaxed);
    nets_[0] = {.net = ni_.net, .count = 1};
    if (welcome != nullptr) {
      nets_[0].priority = welcome->net_priority;
      ni_.priority.set(welcome->priority);
      if (const auto& rules = welcome->preferences)
        ni_.preferences.store(&*rules, std::memory_order_relaxed);
    }
    view_ = {.primary = nid, .nets = nets_, .nis = nis_};
    peer_.publish(view_);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  [[nodiscard]] PeerNi& ni() { return ni_; }

 private:
  Peer peer_;
  PeerNi ni_;
  std::array<PeerNetView, 1> nets_{};
  std::array<PeerNi*, 1> nis_{&ni_};
  PeerView view_;
};

PathStep step_of(const Path& path, const PathViews& views, const PeerNi& stranger) {
  PathStep step{.ni = path.ni->nid, .loopback = path.loopback};
  if (path.loopback) {
    step.next_hop = step.destination = path.ni->nid;
    return step;
  }
  PLNET_CHECK(path.next_hop != nullptr && path.destination != nullptr,
              "a path that is no loopback has a next hop");
  step.next_hop = path.next_hop->nid;
  step.destination = path.destination->nid;
  if (path.route != nullptr) step.route = path.route->spec;
  step.ni_tx_credits = path.ni->tx_credits_of_all();
  if (path.next_hop == &stranger) return step;
  const PeerNi& hop = *path.next_hop;
  step.hop_down = ShardCore::is_down(*path.ni, hop);
  step.hop_trouble = hop.reach.trouble();
  step.hop_silent = hop.since_heard(views.now);
  const PeerPort* const port = views.peers == nullptr ? nullptr : views.peers->find(hop);
  step.hop_stalled = port != nullptr && port->hop.stalled;
  step.place = {.cpt = hop.cpt,
                .shard = hop.home,
                .lane_shard = lane_shard(path.ni->shards, hop.home, hop.number, views.shards),
                .tx_credits = hop.tx_credits.get(),
                .tx_credits_max = hop.tx_credits_max.get(),
                .queued_bytes = hop.queued_bytes.get()};
  return step;
}

// A client on a remote network comes by a gateway: as far as this node knows, by one that leads
// back to it.
std::vector<NetId> networks_in(const Nid& source, const PathViews& views) {
  if (views.local.net(source.net()) != nullptr) return {source.net()};
  std::vector<NetId> nets;
  if (const RemoteNet* const remote = views.routes.net(source.net())) {
    for (const Route* const route : remote->routes)
      nets.push_back(route->local_net());
  }
  std::ranges::sort(nets);
  nets.erase(std::ranges::unique(nets).begin(), nets.end());
  if (nets.empty()) nets.push_back(kNetAny);
  return nets;
}

void judge_by_access_rules(PathReport& report, const PathViews& views) {
  const PathQuestion& question = report.question;
  std::vector<PathDenial>& denied = report.denied;
  if (views.access == nullptr) return;
  const std::vector<NetId> nets = networks_in(question.source, views);
  for (const NetId net : nets) {
    const auto index = views.access->decider({.use = AccessUse::kForward,
                                              .source = question.source,
                                              .destination = question.destination,
                                              .from = net});
    if (!index || views.access->entries()[*index].rule.action == AccessAction::kAllow) continue;
    denied.push_back({.rule = *index, .from = net});
  }
  report.is_denied = denied.size() == nets.size();
  const bool one_rule =
      report.is_denied && std::ranges::all_of(denied, [&](const PathDenial& each) {
        return each.rule == denied.front().rule;
      });
  if (one_rule) denied = {{.rule = denied.front().rule}};
}

// Networks without any known facts are left out.
std::vector<PathRejection> rejected_by_rules(const PathQuestion& question, const PathViews& views) {
  std::vector<PathRejection> rejected;
  const Nid& destination = question.destination;
  const std::vector<NetId> nets = networks_in(question.source, views);
  for (const NetId net : nets) {
    const bool for_us = destination.net() == net && views.local.ni(destination) != nullptr;
    if (for_us || net == kNetAny) continue;
    if (const auto cause = rejection_of(destination, net, views.local))
      rejected.push_back({.cause = *cause, .from = net});
  }
  if (!rejected.empty() && rejected.size() == nets.size())
    return {{.cause = rejected.front().cause}};
  return rejected;
}

}  // namespace

const PeerNi* bringer_of(const Nid& source, const PeerNi* known, const RouteView& routes) {
  const RemoteNet* const remote = routes.net(source.net());
  if (known != nullptr || remote == nullptr) return known;
  const PeerNi* bringer = nullptr;
  for (const Route* const route : remote->routes) {
    const Peer& gateway = *route->gateway.load(std::memory_order_acquire);
    const auto& nis = gateway.seen().nis;
    const auto named = std::ranges::find(nis, route->spec.gateway, &PeerNi::nid);
    if (named == nis.end()) continue;
    if (route->alive.get()) return *named;
    if (bringer == nullptr) bringer = *named;
  }
  return bringer;
}

RouteTroubles troubles_of(const RouteView& routes) {
  RouteTroubles troubles;
  for (const RemoteNet& net : routes.nets()) {
    for (const Route* const route : net.routes) {
      if (route->alive.get()) continue;
      if (route->number >= troubles.size()) troubles.resize(route->number + 1);
      // The history of a route that was last up describes another time.
      troubles[route->number] = {.route = route->spec,
                                 .cause = route->told_up ? RouteCause::kNone : route->told_cause,
                                 .answers_wanted = route->flaps.answers_wanted()};
    }
  }
  return troubles;
}

PathReport report_path(const PathQuestion& question, PeerNi* known, const PathViews& views) {
  PathReport report{.question = question};
  const Nid& source = question.source;
  report.forwarded = !source.is_any() && views.local.ni(source) == nullptr;
  report.routing = views.parameters.routes();
  Stranger stranger(question.destination, views.local, views.welcome);
  report.known = known != nullptr;
  PathRequest request{.destination = known != nullptr ? known : &stranger.ni(),
                      .forwarded = report.forwarded,
                      .accepts_any_nid = accepts_any_nid(source, views.from, views.local),
                      .memory_cpt = views.cpt,
                      .distances = views.distances,
                      .device_priorities = {}};
  if (views.local.ni(question.destination) != nullptr) request.destination = nullptr;  // this node
  if (!report.forwarded) request.source = source;
  Notes notes(report.alternatives, views.troubles);
  const auto path =
      explain_path(request, views.local, views.routes, views.sequences, views.parameters, notes);
  if (path) {
    report.step = step_of(*path, views, stranger.ni());
  } else {
    report.step = std::unexpected(path.error());
  }
  if (report.forwarded && path && request.accepts_any_nid) {
    request.accepts_any_nid = false;
    request.response = true;
    std::vector<PathAlternative> untold;
    Notes aside(untold, views.troubles);
    const auto answers =
        explain_path(request, views.local, views.routes, views.sequences, views.parameters, aside);
    if (answers && answers->next_hop != path->next_hop)
      report.of_answers = step_of(*answers, views, stranger.ni());
  }
  if (report.forwarded) report.rejected = rejected_by_rules(question, views);
  const bool for_us = path && path->loopback;
  if (report.forwarded && !for_us) judge_by_access_rules(report, views);
  return report;
}

}  // namespace plnet::lnet

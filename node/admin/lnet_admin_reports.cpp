// SPDX-License-Identifier: BSD-3-Clause
// The reports that lnetctl asks for.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "node/admin/lnet_admin.hpp"
#include "node/admin/lnet_reports.hpp"
#include "node/admin/lnet_routing.hpp"
#include "node/admin/load_reports.hpp"
#include "node/admin/path_reports.hpp"
#include "node/admin/route_reports.hpp"
#include "node/admin/state_tally.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/open_families.hpp"
#include "node/host/shard_question.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {

using lnet::Reply;

void LnetAdmin::nets(std::optional<lnet::NetId> only, int /*level*/,
                     Reply<std::vector<lnet::NetReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_nets(
      *desk_, *host_, only,
      [this, reply = std::move(reply)](Outcome<std::vector<lnet::NetReport>>&& nets) mutable {
        if (nets) add_parameters(*nets);
        if (nets) add_causes(*nets);
        reply(std::move(nets));
      });
}

// Adds the kernel's module of each NI and its parameters.
void LnetAdmin::add_parameters(std::vector<lnet::NetReport>& nets) const {
  for (lnet::NetReport& net : nets) {
    const lnet::NetConfig* const configured = config_.net(net.net);
    for (lnet::NiReport& ni : net.nis) {
      if (configured == nullptr) continue;
      const auto there = std::ranges::find_if(
          configured->nis, [&ni](const lnet::NiConfig& each) { return each.nid == ni.nid; });
      if (there == configured->nis.end()) continue;
      const FamilyHost* const host = host_->families().host_of(configured->net, *there);
      if (host != nullptr) host->describe(ni);
    }
  }
}

// The first ones are explained, which asks the system; of thousands nobody reads more.
void LnetAdmin::add_troubles(std::vector<lnet::PeerReport>& peers) const {
  std::size_t left = kExplainedMax;
  for (lnet::PeerReport& peer : peers) {
    for (lnet::PeerNiReport& ni : peer.nis) {
      if (!ni.trouble) continue;
      const std::string why = left > 0 ? explain_trouble(ni.nid, *ni.trouble) : std::string();
      left -= left > 0 ? 1 : 0;
      ni.state_cause = trouble_text(*ni.trouble, ni.silent, why);
    }
  }
}

void LnetAdmin::peers(std::optional<lnet::Nid> only, int /*level*/,
                      Reply<std::vector<lnet::PeerReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_peers(
      *desk_, only,
      [this, reply = std::move(reply)](Outcome<std::vector<lnet::PeerReport>>&& peers) mutable {
        if (peers) add_troubles(*peers);
        reply(std::move(peers));
      });
}

void LnetAdmin::routes(Reply<std::vector<lnet::RouteReport>> reply) {
  if (state_ != State::kUp) return reply(std::vector<lnet::RouteReport>{});
  report_routes(*desk_, std::move(reply));
}

void LnetAdmin::gateways(Reply<std::vector<lnet::GatewayReport>> reply) {
  if (state_ != State::kUp) return reply(std::vector<lnet::GatewayReport>{});
  report_gateways(*desk_, std::move(reply));
}

// An NI is in recovery until it has its full health, as in lustre-release lnet/lnet/lib-move.c:
// lnet_recover_local_nis().
void LnetAdmin::recovery(Reply<lnet::RecoveryReport> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_coordinator(
      *desk_,
      [](lnet::Coordinator& coordinator) {
        lnet::RecoveryReport report{.local = {}, .peers = coordinator.recovery().targets()};
        for (const lnet::Ni* const ni : coordinator.local().nis) {
          const bool ill = ni->health.get() < lnet::kHealthMax;
          if (ill && !ni->nid.is_loopback()) report.local.push_back(ni->nid);
        }
        return report;
      },
      std::move(reply));
}

void LnetAdmin::messages(Reply<lnet::MessagesReport> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_messages(*desk_, std::move(reply));
}

void LnetAdmin::say_recovery() {
  if (state_ != State::kUp || asking_for_recovery_) return;
  asking_for_recovery_ = true;
  recovery([this](Outcome<lnet::RecoveryReport>&& report) {
    asking_for_recovery_ = false;
    if (report) recovery_log_.say(*report, loop_->now());
  });
}

void LnetAdmin::cpts_of(std::vector<lnet::Nid> nids,
                        Reply<std::vector<std::optional<std::uint16_t>>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_node(
      *desk_,
      [nids = std::move(nids)](const lnet::Node& node) {
        std::vector<std::optional<std::uint16_t>> cpts;
        for (const lnet::Nid& nid : nids)
          cpts.push_back(node.cpt_of(nid));
        return cpts;
      },
      std::move(reply));
}

void LnetAdmin::explain(lnet::PathQuestion question, Reply<lnet::PathReport> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_path_of(
      *desk_, question, [this, reply = std::move(reply)](Outcome<lnet::PathReport>&& path) mutable {
        if (path && !path->forwarded)
          path->unanswered = silence_.requests_to(path->question.destination, loop_->now());
        if (path && path->step && path->step->hop_trouble) {
          lnet::PathStep& step = *path->step;
          step.hop_trouble_text = trouble_text(*step.hop_trouble, step.hop_silent,
                                               explain_trouble(step.next_hop, *step.hop_trouble));
        }
        reply(std::move(path));
      });
}

void LnetAdmin::load(Reply<lnet::LoadSnapshot> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_load(*desk_, *host_, std::move(reply));
}

void LnetAdmin::renew_load_metrics() {
  if (state_ != State::kUp || asking_for_load_) return;
  asking_for_load_ = true;
  load([this](Outcome<lnet::LoadSnapshot>&& snapshot) {
    asking_for_load_ = false;
    if (snapshot && state_ == State::kUp) load_metrics_->show(*snapshot);
  });
}

// Asks shard 0 alone. While it does not answer, the states stay as they were.
void LnetAdmin::renew_states() {
  if (state_ != State::kUp || asking_for_states_) return;
  asking_for_states_ = true;
  const auto tally = std::make_shared<StateTally>();
  desk_->attempt(
      0,
      [tally](lnet::Node& node) -> Outcome<LnetDesk::Progress> {
        return tally->count(node) ? LnetDesk::Progress::kAgain : LnetDesk::Progress::kDone;
      },
      kChangeMax,
      [this, tally](Outcome<void>&& counted) {
        asking_for_states_ = false;
        if (!counted || state_ != State::kUp) return;
        peer_states_ = tally->states().peers;
        state_metrics_->show(tally->states());
      });
}

void LnetAdmin::show_down() {
  peer_states_.reset();
  state_metrics_->show({.lnet_up = false});
}

void LnetAdmin::sample_activity(ActivitySample& sample) const {
  if (host_ == nullptr || host_->node() == nullptr) return;
  const lnet::Node& node = *host_->node();
  for (unsigned shard = 0; shard < node.shards(); ++shard) {
    using lnet::Statistic;
    const lnet::ShardCore& core = node.shard(shard).core();
    const auto& counters = core.statistics;
    sample.sent += counters.get(Statistic::kSendCount);
    sample.received += counters.get(Statistic::kReceiveCount);
    sample.forwarded += counters.get(Statistic::kRouteCount);
    sample.dropped += counters.get(Statistic::kDropCount);
    sample.bytes += counters.get(Statistic::kSendLength) + counters.get(Statistic::kReceiveLength) +
                    counters.get(Statistic::kRouteLength);
    for (std::size_t i = 0; i < sample.causes.size(); ++i)
      sample.causes[i] += core.causes.get(static_cast<lnet::Cause>(i));
    if (shard < sample.shards.size()) {
      sample.shards[shard].messages += counters.get(Statistic::kSendCount) +
                                       counters.get(Statistic::kReceiveCount) +
                                       counters.get(Statistic::kRouteCount);
    }
  }
}

void LnetAdmin::statistics(Reply<lnet::StatisticsReport> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  reply(report_statistics(*host_->node()));
}

void LnetAdmin::reset_statistics(Reply<void> done) {
  if (auto up = check_up(); !up) return done(std::move(up));
  node::reset_statistics(*desk_, std::move(done));
}

namespace {

// Asks one family after the other, and joins their answers.
template <class Report>
void ask_families(LnetDesk& desk, const OpenFamilies& families,
                  void (FamilyHost::*ask)(LnetDesk&, const lnet::ConnectionQuery&,
                                          Reply<std::vector<Report>>),
                  const lnet::ConnectionQuery& query, Reply<std::vector<Report>> reply) {
  const auto all = std::make_shared<std::vector<Report>>();
  in_turn(
      families.hosts().size(),
      [&desk, &families, ask, query, all](unsigned number, Reply<void> ended) {
        FamilyHost& host = *families.hosts()[number];
        (host.*ask)(desk, query, [all, ended = std::move(ended)](auto&& part) mutable {
          if (!part) return ended(std::unexpected(std::move(part.error())));
          std::ranges::move(*part, std::back_inserter(*all));
          ended({});
        });
      },
      [all, reply = std::move(reply)](Outcome<void>&& over) mutable {
        if (!over) return reply(std::unexpected(std::move(over.error())));
        reply(std::move(*all));
      });
}

}  // namespace

void LnetAdmin::connections(lnet::ConnectionQuery query,
                            Reply<std::vector<lnet::ConnectionReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_families(*desk_, host_->families(), &FamilyHost::connections, query, std::move(reply));
}

void LnetAdmin::connection_peers(lnet::ConnectionQuery query,
                                 Reply<std::vector<lnet::ConnectionPeerReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_families(*desk_, host_->families(), &FamilyHost::connection_peers, query, std::move(reply));
}

void LnetAdmin::ping(lnet::PingOrder request, Reply<std::vector<lnet::PingReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  pings_->ping(std::move(request), std::move(reply));
}

// Each message of a discovery may take the time of a transaction.
void LnetAdmin::discover(lnet::DiscoverOrder request, Reply<std::vector<lnet::PingReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  const Duration bound =
      std::chrono::seconds(config_.parameters.transaction_timeout_s) + std::chrono::seconds(5);
  pings_->discover(std::move(request), bound, std::move(reply));
}

}  // namespace plnet::node

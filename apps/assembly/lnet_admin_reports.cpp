// SPDX-License-Identifier: BSD-3-Clause
// What lnetctl asks.
#include <algorithm>
#include <utility>

#include "apps/assembly/coordinator_question.hpp"
#include "apps/assembly/kfi_host.hpp"
#include "apps/assembly/lnet_admin.hpp"
#include "apps/assembly/lnet_reports.hpp"
#include "apps/assembly/lnet_routing.hpp"
#include "apps/assembly/load_reports.hpp"
#include "apps/assembly/path_reports.hpp"
#include "apps/assembly/route_reports.hpp"
#include "apps/assembly/tcp_changes.hpp"
#include "apps/assembly/tcp_host.hpp"
#include "apps/assembly/tcp_reports.hpp"

namespace plnet::apps {

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

// What the configuration and the options at the start come to.
void LnetAdmin::add_parameters(std::vector<lnet::NetReport>& nets) const {
  const auto served = tcp_nis(config_);
  const KfiHost* const kfi = host_->kfi();
  for (lnet::NetReport& net : nets) {
    for (lnet::NiReport& ni : net.nis) {
      const bool by_kfilnd = !ni.interfaces.empty() && ni.nid.is_of(lnet::NetType::kKfi) &&
                             kfi != nullptr && kfi->nic(ni.interfaces.front()) != nullptr;
      if (by_kfilnd) {
        const auto own = options_of_ni(kfi->options(), ni.lnd_tunables);
        ni.driver = "kkfilnd";
        if (own) ni.parameters = parameters_of(*own);
      }
      if (std::ranges::find(served, ni.nid) == served.end()) continue;
      ni.driver = "ksocklnd";
      ni.parameters =
          parameters_of(tunables_of_ni(host_->tcp().options().tunables, ni.lnd_tunables));
    }
  }
}

void LnetAdmin::peers(std::optional<lnet::Nid> only, int /*level*/,
                      Reply<std::vector<lnet::PeerReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_peers(*desk_, *host_, only, std::move(reply));
}

void LnetAdmin::routes(Reply<std::vector<lnet::RouteReport>> reply) {
  if (state_ != State::kUp) return reply(std::vector<lnet::RouteReport>{});
  report_routes(*desk_, std::move(reply));
}

void LnetAdmin::gateways(Reply<std::vector<lnet::GatewayReport>> reply) {
  if (state_ != State::kUp) return reply(std::vector<lnet::GatewayReport>{});
  report_gateways(*desk_, std::move(reply));
}

// lustre-release lnet/lnet/lib-move.c: lnet_recover_local_nis() keeps an NI until it has its full
// health, too.
void LnetAdmin::recovery(Reply<lnet::RecoveryReport> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_coordinator<lnet::RecoveryReport>(
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

void LnetAdmin::cpts_of(std::vector<lnet::Nid> nids,
                        Reply<std::vector<std::optional<std::uint16_t>>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  ask_node<std::vector<std::optional<std::uint16_t>>>(
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
  report_path_of(*desk_, question, std::move(reply));
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

void LnetAdmin::statistics(Reply<lnet::StatisticsReport> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  reply(report_statistics(*host_->node()));
}

void LnetAdmin::reset_statistics(Reply<void> done) {
  if (auto up = check_up(); !up) return done(std::move(up));
  apps::reset_statistics(*desk_, *host_, std::move(done));
}

void LnetAdmin::connections(lnet::ConnectionQuery query,
                            Reply<std::vector<lnet::ConnectionReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_connections(*desk_, *host_, query, std::move(reply));
}

void LnetAdmin::connection_peers(lnet::ConnectionQuery query,
                                 Reply<std::vector<lnet::ConnectionPeerReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  report_connection_peers(*desk_, *host_, query, std::move(reply));
}

void LnetAdmin::ping(lnet::PingOrder request, Reply<std::vector<lnet::PingReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  pings_->ping(std::move(request), std::move(reply));
}

// Each of its messages has the time of a transaction.
void LnetAdmin::discover(lnet::DiscoverOrder request, Reply<std::vector<lnet::PingReport>> reply) {
  if (auto up = check_up(); !up) return reply(std::unexpected(up.error()));
  const Duration bound =
      std::chrono::seconds(config_.parameters.transaction_timeout_s) + std::chrono::seconds(5);
  pings_->discover(std::move(request), bound, std::move(reply));
}

}  // namespace plnet::apps

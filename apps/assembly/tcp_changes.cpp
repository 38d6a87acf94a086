// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/tcp_changes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "apps/assembly/lnet_host.hpp"
#include "apps/assembly/lnet_networks.hpp"
#include "apps/assembly/tcp_host.hpp"
#include "apps/assembly/tcp_place.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

using lnet::LndTunable;
using lnet::NetConfig;
using lnet::NiConfig;
using lnet::Nid;
using lnet::NodeConfig;
using lnet::Reply;

bool is_tcp(const NetConfig& net, const NiConfig& ni) {
  if (lnet::type_of_net(net.net) != static_cast<unsigned>(lnet::NetType::kTcp)) return false;
  const auto driver = std::ranges::find(ni.lnd_tunables, lnet::kDriverTunable, &LndTunable::name);
  return driver == ni.lnd_tunables.end() || driver->value == decltype(driver->value)("tcp");
}

constexpr const char* kConnections = "conns_per_peer";

void set_tunable(NiConfig& ni, const char* name, std::int64_t value) {
  const auto there = std::ranges::find(ni.lnd_tunables, name, &LndTunable::name);
  if (there != ni.lnd_tunables.end()) {
    there->value = value;
  } else {
    ni.lnd_tunables.push_back({name, value});
  }
}

bool follows_link(const NiConfig& ni, const socklnd::Tunables& of_all) {
  return tunables_of_ni(of_all, ni.lnd_tunables).conns_per_peer == 0;
}

bool is_meant(const lnet::NiChange& change, const NetConfig& net, const NiConfig& ni) {
  return change.is_for(net.net, ni.nid.value_or(Nid::any()));
}

// --- Tunables ---

struct TuningJob {
  std::vector<Retuned> nis;
  Reply<void> after;
};

void tune_on(lnet::Node& node, TcpPlace& place, unsigned shard, const TuningJob& job) {
  for (const Retuned& tuned : job.nis) {
    if (auto* const lnd = place.inbox().lnd(tuned.nid)) lnd->set_tunables(tuned.tunables);
    // Where the coordinator is.
    lnet::Ni* const ni = shard == 0 ? node.coordinator().local().ni(tuned.nid) : nullptr;
    if (ni == nullptr) continue;
    ni->lnd_timeout.set(tuned.lnd_timeout);
    ni->lnd_tunables = tuned.in_force;
  }
}

void tune_from(LnetDesk& desk, LnetHost& host, const std::shared_ptr<TuningJob>& job,
               unsigned shard) {
  if (shard == host.shards()) return job->after({});
  auto sent = desk.order(
      shard,
      [&host, job, shard](lnet::Node& node) {
        tune_on(node, host.tcp().place(shard), shard, *job);
      },
      [&desk, &host, job, shard] { tune_from(desk, host, job, shard + 1); });
  if (!sent) job->after(std::move(sent));
}

}  // namespace

std::vector<TunablesInForce> tunables_in_force(lnet::Node& node) {
  std::vector<TunablesInForce> all;
  for (const lnet::Ni* const ni : node.coordinator().local().nis)
    all.push_back({.nid = ni->nid, .values = ni->lnd_tunables});
  return all;
}

// --- Connections ---

void ConnectionsByLink::renew(const NodeConfig& config,
                              const std::vector<TunablesInForce>& in_force) {
  numbers_.clear();
  const auto options = tcp_options_of(config);
  if (!options) return;  // not that it could be: somebody has judged it
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      if (!ni.nid || !is_tcp(net, ni) || !follows_link(ni, options->tunables)) continue;
      const auto there = std::ranges::find(in_force, *ni.nid, &TunablesInForce::nid);
      if (there == in_force.end()) continue;
      const auto value = std::ranges::find(there->values, kConnections, &LndTunable::name);
      if (value == there->values.end()) continue;
      if (const auto* const number = std::get_if<std::int64_t>(&value->value))
        numbers_.emplace(*ni.nid, *number);
    }
  }
}

void ConnectionsByLink::forget(const NodeConfig& config, const lnet::NiChange& change) {
  if (!change.connections_per_peer) return;
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      if (ni.nid && is_meant(change, net, ni)) numbers_.erase(*ni.nid);
    }
  }
}

void ConnectionsByLink::keep(const NiConfig& ni, const socklnd::Tunables& of_all,
                             lnet::NiSetup& setup) const {
  const auto known = numbers_.find(setup.nid);
  if (known == numbers_.end() || !follows_link(ni, of_all)) return;
  const auto value = std::ranges::find(setup.lnd_tunables, kConnections, &LndTunable::name);
  if (value != setup.lnd_tunables.end()) value->value = known->second;
}

std::vector<Nid> tcp_nis(const NodeConfig& config) {
  std::vector<Nid> nids;
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      if (ni.nid && is_tcp(net, ni)) nids.push_back(*ni.nid);
    }
  }
  return nids;
}

Outcome<void> tune(NodeConfig& config, const lnet::NiChange& change) {
  bool found = change.all;
  for (NetConfig& net : config.nets) {
    for (NiConfig& ni : net.nis) {
      if (!is_meant(change, net, ni)) continue;
      found = true;
      const bool tunes = change.connections_per_peer || change.lnd_timeout_s;
      if (!tunes || (change.all && !is_tcp(net, ni))) continue;
      if (!is_tcp(net, ni)) {
        return failure(Errc::kNotSupported,
                       fmt::format("network {}: its driver has no conns_per_peer and no timeout",
                                   lnet::text_of_net(net.net)));
      }
      if (change.connections_per_peer) set_tunable(ni, kConnections, *change.connections_per_peer);
      if (change.lnd_timeout_s) set_tunable(ni, "timeout", *change.lnd_timeout_s);
    }
  }
  if (found) return {};
  return failure(Errc::kNotFound, "no such NI");
}

std::vector<Retuned> retuned_nis(const NodeConfig& config, const socklnd::Tunables& of_all,
                                 const ConnectionsByLink& by_link, const ResolveNi& resolve) {
  std::vector<Retuned> nis;
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      if (!ni.nid || !is_tcp(net, ni)) continue;
      auto resolved = resolve(net.net, ni);
      if (!resolved) continue;  // it was made once, so it is of this machine no more
      by_link.keep(ni, of_all, resolved->setup);
      nis.push_back({.nid = *ni.nid,
                     .tunables = tunables_of_ni(of_all, resolved->setup.lnd_tunables),
                     .in_force = resolved->setup.lnd_tunables,
                     .lnd_timeout = resolved->setup.lnd_timeout});
    }
  }
  return nis;
}

void retune(LnetDesk& desk, LnetHost& host, const NodeConfig& config,
            const ConnectionsByLink& by_link, Reply<void> after) {
  auto job = std::make_shared<TuningJob>();
  job->after = std::move(after);
  job->nis =
      retuned_nis(config, host.tcp().options().tunables, by_link,
                  [&host](lnet::NetId net, const NiConfig& ni) { return host.resolve(net, ni); });
  tune_from(desk, host, job, 0);
}

}  // namespace plnet::apps

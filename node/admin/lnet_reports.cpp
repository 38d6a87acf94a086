// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/lnet_reports.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "node/admin/message_tally.hpp"
#include "node/admin/peer_tally.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/shard_question.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {
namespace {

using lnet::LnetFailures;
using lnet::LnetTraffic;
using lnet::PeerReport;
using lnet::Reply;
using Progress = LnetDesk::Progress;

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

void add(const lnet::Failures& failures, lnet::NiHealthReport& health) {
  using Id = LnetFailures::Id;
  health.interrupts += narrow(failures.get(Id::kLocalInterrupt));
  health.dropped += narrow(failures.get(Id::kLocalDropped));
  health.aborted += narrow(failures.get(Id::kLocalAborted));
  health.no_route += narrow(failures.get(Id::kLocalNoRoute));
  health.timeouts += narrow(failures.get(Id::kLocalTimeout));
  health.error += narrow(failures.get(Id::kLocalError));
}

Error down() {
  return {Errc::kNetworkDown, "Network is down"};
}

// --- Networks ---

struct NetsJob {
  std::optional<lnet::NetId> only;
  std::size_t cpts = 0;
  std::vector<lnet::NetReport> nets{};
  std::vector<std::vector<std::uint16_t>> numbers{};  // of the NIs in `nets`
};

lnet::NiReport report_of(const lnet::Ni& ni, std::size_t cpts) {
  lnet::NiReport report;
  report.nid = ni.nid;
  report.up = ni.status.get() == lnet::kNiUp;
  report.interfaces = ni.interfaces;
  report.policy.nid_priority = ni.priority.get();
  report.health.fatal_error = ni.fatal.get() ? 1 : 0;
  report.health.health_value = ni.health.get();
  report.tunables = ni.tunables;
  if (ni.nid.is_loopback()) report.tunables = {0, 0, 0, 0};
  report.lnd_tunables = ni.lnd_tunables;
  report.device_cpt = ni.device_cpt;
  report.cpts = ni.cpts;
  for (std::size_t cpt = 0; ni.cpts.empty() && cpt < cpts; ++cpt)
    report.cpts.push_back(static_cast<std::uint16_t>(cpt));
  for (const std::uint16_t cpt : report.cpts)
    report.tx_queues.push_back({.cpt = cpt});
  return report;
}

// Only of a router, in whole seconds, else -1. The latest NI counts for its network.
std::int64_t since_alive_s(const lnet::Net& net, lnet::Node& node) {
  std::int64_t latest = INT64_MIN;
  for (const lnet::Ni* const ni : net.nis)
    latest = std::max(latest, ni->pinged_ns.get());
  if (!node.parameters().routes() || latest == INT64_MIN) return -1;
  const Duration since = node.shard(0).core().now.time_since_epoch() - Duration(latest);
  return since / std::chrono::seconds(1);
}

// On shard 0, where views do not change during a turn.
void list_nets(lnet::Node& node, NetsJob& job) {
  const lnet::LocalView& local = node.coordinator().local();
  const auto wanted = [&job](lnet::NetId net) { return !job.only || *job.only == net; };
  if (wanted(local.loopback->net)) {
    job.nets.push_back({local.loopback->net, {report_of(*local.loopback, job.cpts)}});
    job.numbers.push_back({local.loopback->number});
  }
  for (const lnet::Net& net : local.nets) {
    if (!wanted(net.id)) continue;
    auto& report = job.nets.emplace_back(lnet::NetReport{net.id, {}});
    auto& numbers = job.numbers.emplace_back();
    for (const lnet::Ni* const ni : net.nis) {
      report.nis.push_back(report_of(*ni, job.cpts));
      report.nis.back().policy.net_priority = net.priority->get();
      const lnet::NodeStanding& standing = node.coordinator().standing();
      report.nis.back().down_cause = text_of(standing.cause_of(*ni));
      report.nis.back().status_changes = standing.changes_of(*ni);
      report.nis.back().since_alive_s = since_alive_s(net, node);
      numbers.push_back(ni->number);
    }
  }
}

void add(const lnet::NiPort& port, const lnet::ShardCore& core,
         std::vector<lnet::TxQueueReport>& queues) {
  const auto queue = std::ranges::find(queues, core.cpt, &lnet::TxQueueReport::cpt);
  if (queue == queues.end()) return;
  queue->references += 1 + static_cast<std::int32_t>(core.ni_users[port.ni().number]);
  queue->credits_max += port.tx_credits_max();
  queue->credits += port.tx_credits();
  queue->credits_min += port.tx_credits_min();
}

void count_nets(lnet::Shard& shard, NetsJob& job) {
  for (std::size_t i = 0; i < job.nets.size(); ++i) {
    for (std::size_t k = 0; k < job.numbers[i].size(); ++k) {
      const lnet::NiPort* const port = shard.core().ports[job.numbers[i][k]];
      lnet::NiReport& report = job.nets[i].nis[k];
      // Another NI may have the number of one that was removed during the tour.
      if (port == nullptr || port->ni().nid != report.nid) continue;
      add_traffic(port->traffic, report.traffic, report.messages);
      add(port->failures, report.health);
      add(*port, shard.core(), report.tx_queues);
    }
  }
}

// --- Routing ---

lnet::RoutingReport standing_of(lnet::Node& node) {
  const auto told = node.coordinator().standing().report(node.shard(0).core().now);
  lnet::RoutingReport report{.state = told.state};
  const bool settled =
      told.state == lnet::RoutingState::kEnabled || told.state == lnet::RoutingState::kDisabled;
  if (settled && !told.is_drain()) return report;
  report.change = lnet::RoutingChangeReport{.phase = std::string(told.text()),
                                            .seconds_least = told.seconds_least,
                                            .seconds_left = told.seconds_left,
                                            .is_drain = told.is_drain(),
                                            .peers = told.told.pushed,
                                            .acknowledged = told.told.acknowledged,
                                            .by_ping = told.told.by_ping,
                                            .held = told.load.held,
                                            .cut_off = told.cut_off,
                                            .unsent = told.load.unsent};
  return report;
}

}  // namespace

void add_traffic(const lnet::Traffic& traffic, lnet::TrafficReport& sums,
                 lnet::MessageReport& messages) {
  using Id = LnetTraffic::Id;
  const auto take = [&traffic](lnet::MessageCounts& to, std::uint32_t& sum, Id put, Id get,
                               Id reply, Id ack, Id hello) {
    const auto one = [&](std::uint32_t& row, Id id) {
      row += narrow(traffic.get(id));
      sum += narrow(traffic.get(id));
    };
    one(to.put, put);
    one(to.get, get);
    one(to.reply, reply);
    one(to.ack, ack);
    one(to.hello, hello);
  };
  take(messages.sent, sums.send_count, Id::kSentPut, Id::kSentGet, Id::kSentReply, Id::kSentAck,
       Id::kSentHello);
  take(messages.received, sums.recv_count, Id::kReceivedPut, Id::kReceivedGet, Id::kReceivedReply,
       Id::kReceivedAck, Id::kReceivedHello);
  take(messages.dropped, sums.drop_count, Id::kDroppedPut, Id::kDroppedGet, Id::kDroppedReply,
       Id::kDroppedAck, Id::kDroppedHello);
}

void report_nets(LnetDesk& desk, const LnetHost& host, std::optional<lnet::NetId> only,
                 Reply<std::vector<lnet::NetReport>> reply) {
  gather_from_shards(
      desk, NetsJob{.only = only, .cpts = host.cpts()},
      [](lnet::Node& node, unsigned shard, NetsJob& job) {
        if (shard == 0) list_nets(node, job);
        count_nets(node.shard(shard), job);
      },
      [reply = std::move(reply)](Outcome<NetsJob>&& job) mutable {
        if (!job) return reply(std::unexpected(std::move(job.error())));
        if (job->nets.empty()) return reply(std::unexpected(down()));
        reply(std::move(job->nets));
      });
}

void report_standing(LnetDesk& desk, Reply<lnet::RoutingReport> reply) {
  ask_node(desk, standing_of,
           [reply = std::move(reply)](Outcome<lnet::RoutingReport>&& report) mutable {
             const bool down = !report && report.error().code == Errc::kNetworkDown;
             reply(down ? lnet::RoutingReport{} : std::move(report));
           });
}

void report_messages(LnetDesk& desk, Reply<lnet::MessagesReport> reply) {
  gather_from_shards(
      desk, MessageTally{},
      [](lnet::Node& node, unsigned shard, MessageTally& tally) {
        return tally.count(node, shard) ? Progress::kAgain : Progress::kDone;
      },
      [reply = std::move(reply)](Outcome<MessageTally>&& tally) mutable {
        if (!tally) return reply(std::unexpected(std::move(tally.error())));
        reply(std::move(tally->report()));
      });
}

void report_peers(LnetDesk& desk, std::optional<lnet::Nid> only,
                  Reply<std::vector<PeerReport>> reply) {
  struct Job {
    PeerTally tally;
    bool listed = false;
  };
  gather_from_shards(
      desk, Job{.tally = PeerTally(only)},
      [](lnet::Node& node, unsigned shard, Job& job) {
        if (job.listed) return job.tally.count(node, shard) ? Progress::kAgain : Progress::kDone;
        if (shard != 0) return Progress::kDone;  // LNet came up during the tour
        job.listed = !job.tally.list(node);
        return Progress::kAgain;
      },
      [one = only.has_value(), reply = std::move(reply)](Outcome<Job>&& job) mutable {
        if (!job) return reply(std::unexpected(std::move(job.error())));
        if (!job->listed) return reply(std::unexpected(down()));
        if (one && job->tally.peers().empty())
          return reply(failure(Errc::kNotFound, "no peer has this NID"));
        reply(std::move(job->tally.peers()));
      });
}

lnet::StatisticsReport report_statistics(const lnet::Node& node) {
  lnet::StatisticsReport report;
  for (unsigned i = 0; i < node.shards(); ++i) {
    const CounterView view = node.shard(i).core().statistics.view();
    std::size_t row = 0;
#define PLNET_X(name) report.name += view.value(row++);
    PLNET_STATISTICS_REPORT(PLNET_X)
#undef PLNET_X
  }
  return report;
}

// The report and the counters have the same rows.
namespace {
constexpr bool same_rows() {
  constexpr std::array kNames{
#define PLNET_X(name) std::string_view(#name),
      PLNET_STATISTICS_REPORT(PLNET_X)
#undef PLNET_X
  };
  return std::ranges::equal(kNames, lnet::LnetStatistics::kInfo, {}, {}, &CounterInfo::name);
}
static_assert(same_rows());
}  // namespace

void reset_statistics(LnetDesk& desk, Reply<void> done) {
  tour_shards(
      desk,
      [](lnet::Node& node, unsigned shard) {
        lnet::ShardCore& core = node.shard(shard).core();
        for (std::size_t row = 0; row < lnet::LnetStatistics::kInfo.size(); ++row) {
          if (lnet::LnetStatistics::kInfo[row].kind == CounterKind::kGauge) continue;
          core.statistics.set(static_cast<lnet::Statistic>(row), 0);
        }
        core.buffers.reset_marks();
        return Progress::kDone;
      },
      std::move(done));
}

}  // namespace plnet::node

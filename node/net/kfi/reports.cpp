// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/reports.hpp"

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using cassini::CommandQueueView;
using cassini::EventQueueView;

KfiJson report_of_queue(const CommandQueueView& queue) {
  KfiJson report{{"index", queue.hardware_index},
                 {"slots", queue.depth},
                 {"used", queue.used},
                 {"doorbells", queue.rings},
                 {"low latency rejected", queue.low_latency_rejected}};
  if (queue.failed_by) report["failed"] = std::string(name_of(*queue.failed_by));
  return report;
}

KfiJson report_of_queue(const EventQueueView& queue) {
  KfiJson report{{"number", queue.number}, {"slots", queue.depth}, {"offset", queue.offset}};
  if (queue.used) report["used"] = *queue.used;
  if (queue.reserved) report["reserved"] = *queue.reserved;
  report["dropped"] = queue.dropped ? 1 : 0;
  report["broken"] = queue.broken ? 1 : 0;
  return report;
}

KfiJson report_of_entries(const std::vector<cassini::ListEntryView>& entries) {
  KfiJson list = KfiJson::array();
  for (const cassini::ListEntryView& entry : entries) {
    KfiJson report{{"buffer id", entry.buffer_id},
                   {"kind", entry.tagged ? "tagged" : "messages"},
                   {"state", std::string(cassini::name_of(entry.state))},
                   {"length", entry.length}};
    if (entry.tagged) {
      report["tag"] = entry.tag;
      report["match id"] = entry.match_id;
    } else {
      report["filled"] = entry.told;
    }
    if (entry.cancelling) report["cancelling"] = 1;
    list.push_back(std::move(report));
  }
  return list;
}

KfiJson report_of_nic(const cassini::NicView& nic) {
  KfiJson statistics = KfiJson::object();
  for (const cassini::Statistic& each : nic.statistics)
    statistics[each.name] = each.value;
  return {{"device", nic.info.name},
          {"description", nic.info.description},
          {"address", nic.info.nic_address},
          {"address hex", fmt::format("{:#07x}", nic.info.nic_address)},
          {"link", nic.info.link_up ? "up" : "down"},
          {"link mtu", nic.info.link_mtu},
          {"link mbps", nic.info.link_mbps},
          {"retry handler", nic.info.retry_handler ? 1 : 0},
          {"statistics", std::move(statistics)}};
}

}  // namespace

CassiniSeen look_at_cassini(KfiNi& ni) {
  KfiContext& context = ni.context();
  CassiniSeen seen{
      .interface = context.nic().name(),
      .is_soft = context.nic().soft() != nullptr,
      .receive_context = context.number(),
      .endpoint = cassini::inspect(context.endpoint()),
      .counts = {},
      .nic = {.info = context.device().seen(), .statistics = context.device().statistics()},
      .arenas_refused = context.device().arenas_refused()};
  const CounterView counters = seen.endpoint.counters;
  for (std::size_t i = 0; i < counters.info.size(); ++i)
    seen.counts.emplace_back(counters.info[i].name, counters.value(i));
  seen.endpoint.counters = {};  // the counters end with the endpoint
  return seen;
}

std::vector<kfilnd::PeerFacts> look_at_peers(const KfiNi& ni, Instant now) {
  std::vector<kfilnd::PeerFacts> peers;
  for (std::uint32_t slot = 0; slot < ni.peer_slots(); ++slot) {
    if (auto facts = ni.peer_facts(slot, now)) peers.push_back(*facts);
  }
  return peers;
}

KfiJson report_of(const CassiniSeen& seen) {
  const cassini::EndpointView& endpoint = seen.endpoint;
  KfiJson report{{"interface", seen.interface},
                 {"backend", seen.is_soft ? "soft" : "libcxi"},
                 {"nic address", endpoint.own.nic},
                 {"process", endpoint.own.pid},
                 {"receive context", seen.receive_context},
                 {"state", endpoint.running ? "running" : "being rebuilt"},
                 {"link", endpoint.link_up ? "up" : "down"},
                 {"operations", endpoint.operations},
                 {"waiting for a buffer there", endpoint.not_ready},
                 {"arenas copied", seen.arenas_refused}};
  if (endpoint.queues) {
    const cassini::QueuesView& queues = *endpoint.queues;
    report["queues"] = {{"transmit", report_of_queue(queues.transmit)},
                        {"target", report_of_queue(queues.target)},
                        {"transmit events", report_of_queue(queues.transmit_events)},
                        {"receive events", report_of_queue(queues.receive_events)}};
    report["portal"] = {{"number", queues.portal},
                        {"state", std::string(name_of(queues.portal_state))}};
  }
  report["list entries"] = report_of_entries(endpoint.entries);
  KfiJson counts = KfiJson::object();
  for (const auto& [name, value] : seen.counts)
    counts[std::string(name)] = value;
  report["counters"] = std::move(counts);
  report["nic"] = report_of_nic(seen.nic);
  return report;
}

KfiJson report_of(const kfilnd::PeerFacts& peer) {
  return {
      {"nid", text_of(peer.nid)},
      {"state", std::string(name_of(peer.state))},
      {"greeting", peer.greeting ? 1 : 0},
      {"version", peer.version},
      {"receive context", peer.rx_base},
      {"local session key", peer.local_session_key},
      {"remote session key", peer.remote_session_key},
      {"transactions", peer.transactions},
      {"silent msec", std::chrono::duration_cast<std::chrono::milliseconds>(peer.silent).count()}};
}

std::string tables_of(const kfilnd::Statistics& statistics) {
  return fmt::format(
      "initiator_stats:\n{}initiator_state_stats:\n{}target_stats:\n{}"
      "target_state_stats:\n{}",
      total_table(statistics.initiator), state_table(statistics.initiator),
      total_table(statistics.target), state_table(statistics.target));
}

}  // namespace plnet::node

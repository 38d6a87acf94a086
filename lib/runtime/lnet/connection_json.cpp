// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/connection_json.hpp"

#include <chrono>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::runtime {
namespace {

std::int64_t milliseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// What has not happened has no row.
void add_time(Json& item, const char* key, const std::optional<Duration>& time) {
  if (time) item[key] = milliseconds(*time);
}

template <class Report>
Json head_of(const Report& report) {
  return {{"nid", text_of(report.peer.nid)},
          {"pid", report.peer.pid},
          {"local nid", text_of(report.local)},
          {"shard", report.shard}};
}

Json transport(const lnet::TransportReport& report) {
  return {{"unsent_bytes", report.unsent_bytes},
          {"unacked_bytes", report.unacknowledged_bytes},
          {"unread_bytes", report.unread_bytes},
          {"retransmits", report.retransmits},
          {"rtt_usec", report.round_trip_usec},
          {"rttvar_usec", report.round_trip_variance_usec},
          {"congestion_control", report.congestion_control},
          {"cwnd", report.congestion_window},
          {"mss", report.segment_bytes},
          {"napi_id", report.napi_id}};
}

Json connection_to_json(const lnet::ConnectionReport& report, int level) {
  Json item = head_of(report);
  item["type"] = report.type;
  item["state"] = report.state;
  item["local"] = report.local_address;
  item["remote"] = report.remote_address;
  item["tx_buffer_size"] = report.transport.send_buffer_bytes;
  item["rx_buffer_size"] = report.transport.receive_buffer_bytes;
  item["nagle"] = report.transport.nagle;
  if (level < 1) return item;
  item["initiator"] = report.by_us ? "us" : "peer";
  item["protocol"] = report.protocol;
  item["reading"] = !report.parked;
  add_time(item, "age_msec", report.age);
  add_time(item, "last_send_msec", report.since_sent);
  add_time(item, "last_recv_msec", report.since_heard);
  item["statistics"] = {
      {"send_count", report.send_count},     {"send_length", report.send_length},
      {"recv_count", report.recv_count},     {"recv_length", report.recv_length},
      {"queued_count", report.queued_count}, {"queued_length", report.queued_length}};
  item["tcp info"] = transport(report.transport);
  return item;
}

Json peer_to_json(const lnet::ConnectionPeerReport& report, int level) {
  Json item = head_of(report);
  item["state"] = report.state;
  item["refcount"] = report.references;
  item["remote"] = report.remote_address;
  item["connections"] = report.connections();
  if (level < 1) return item;
  item["by type"] = {{"C", report.control}, {"I", report.bulk_in}, {"O", report.bulk_out}};
  if (report.other > 0) item["by type"]["A"] = report.other;
  item["wanted"] = report.wanted;
  item["connecting"] = report.attempt;
  if (report.protocol != 0) item["protocol"] = report.protocol;
  if (report.incarnation != 0) item["incarnation"] = report.incarnation;
  item["max_ni_tx_credits"] = report.tx_credits_max;
  item["available_tx_credits"] = report.tx_credits;
  item["waiting_count"] = report.waiting_count;
  item["queued_count"] = report.queued_count;
  item["backoff_msec"] = milliseconds(report.backoff);
  item["retry_in_msec"] = milliseconds(report.retry_in);
  add_time(item, "last_recv_msec", report.since_heard);
  return item;
}

}  // namespace

Json connections_to_json(std::span<const lnet::ConnectionReport> connections, int level) {
  Json list = Json::array();
  for (const lnet::ConnectionReport& report : connections)
    list.push_back(connection_to_json(report, level));
  return document_of("conn", std::move(list));
}

Json connection_peers_to_json(std::span<const lnet::ConnectionPeerReport> peers, int level) {
  Json list = Json::array();
  for (const lnet::ConnectionPeerReport& report : peers)
    list.push_back(peer_to_json(report, level));
  return document_of("conn peer", std::move(list));
}

}  // namespace plnet::runtime

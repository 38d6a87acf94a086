// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/connection_json.hpp"

#include <chrono>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/report_rows.hpp"

namespace plnet::runtime {
namespace {

// Null if it has not happened.
Json milliseconds(const std::optional<Duration>& time) {
  return time ? Json(*time / std::chrono::milliseconds(1)) : Json{};
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

Json queue_pair(const lnet::QueuePairReport& report) {
  return {{"depth", report.depth},
          {"max_frags", report.fragments_max},
          {"credits", report.credits},
          {"reserved_credits", report.reserved},
          {"outstanding_credits", report.owed},
          {"sends_posted", report.posted},
          {"held", report.held},
          {"incarnation", report.incarnation}};
}

Json counts(const lnet::ConnectionReport& report) {
  return {{"send_count", report.send_count},     {"send_length", report.send_length},
          {"recv_count", report.recv_count},     {"recv_length", report.recv_length},
          {"queued_count", report.queued_count}, {"queued_length", report.queued_length}};
}

Json connection_to_json(const lnet::ConnectionReport& report, int level) {
  const auto& socket = report.transport;
  const auto of_socket = [&socket](auto field) { return socket ? Json(*socket.*field) : Json{}; };
  return object_of({{"nid", text_of(report.peer.nid)},
                    {"pid", report.peer.pid},
                    {"local nid", text_of(report.local)},
                    {"shard", report.shard},
                    {"type", report.type},
                    {"state", report.state},
                    {"local", report.local_address},
                    {"remote", report.remote_address},
                    {"tx_buffer_size", of_socket(&lnet::TransportReport::send_buffer_bytes)},
                    {"rx_buffer_size", of_socket(&lnet::TransportReport::receive_buffer_bytes)},
                    {"nagle", of_socket(&lnet::TransportReport::nagle)},
                    {"initiator", report.by_us ? "us" : "peer", 1},
                    {"protocol", report.protocol, 1},
                    {"reading", !report.parked, 1},
                    {"age_msec", milliseconds(report.age), 1},
                    {"last_send_msec", milliseconds(report.since_sent), 1},
                    {"last_recv_msec", milliseconds(report.since_heard), 1},
                    {"statistics", socket ? counts(report) : Json{}, 1},
                    {"tcp info", level < 1 || !socket ? Json{} : transport(*socket)},
                    {"queue pair", report.queue_pair ? queue_pair(*report.queue_pair) : Json{}, 1}},
                   level);
}

Json connection_peer_to_json(const lnet::ConnectionPeerReport& report, int level) {
  return object_of({{"nid", text_of(report.peer.nid)},
                    {"pid", report.peer.pid},
                    {"local nid", text_of(report.local)},
                    {"shard", report.shard},
                    {"state", report.state},
                    {"refcount", report.references},
                    {"remote", report.remote_address},
                    {"connections", report.connections()},
                    {"by type",
                     object_of({{"C", report.control},
                                {"I", report.bulk_in},
                                {"O", report.bulk_out},
                                {"A", if_any(report.other)}}),
                     1},
                    {"wanted", report.wanted, 1},
                    {"connecting", report.attempt, 1},
                    {"protocol", if_any(report.protocol), 1},
                    {"incarnation", if_any(report.incarnation), 1},
                    {"max_ni_tx_credits", report.tx_credits_max, 1},
                    {"available_tx_credits", report.tx_credits, 1},
                    {"waiting_count", report.waiting_count, 1},
                    {"queued_count", report.queued_count, 1},
                    {"backoff_msec", milliseconds(report.backoff), 1},
                    {"retry_in_msec", milliseconds(report.retry_in), 1},
                    {"last_recv_msec", milliseconds(report.since_heard), 1}},
                   level);
}

}  // namespace

Json connections_to_json(std::span<const lnet::ConnectionReport> connections, int level) {
  return document_of("conn", list_of(connections, connection_to_json, level));
}

Json connection_peers_to_json(std::span<const lnet::ConnectionPeerReport> peers, int level) {
  return document_of("conn peer", list_of(peers, connection_peer_to_json, level));
}

}  // namespace plnet::runtime

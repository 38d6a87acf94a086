// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/lnet/debugfs_text.hpp"

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::runtime {
namespace {

const char* up_or_down(bool up) {
  return up ? "up" : "down";
}

const char* word_of(lnet::Aliveness state) {
  return state == lnet::Aliveness::kUnknown ? "NA" : up_or_down(state == lnet::Aliveness::kUp);
}

const char* word_of(lnet::RoutingState state) {
  switch (state) {
    case lnet::RoutingState::kDisabled: return "disabled";
    case lnet::RoutingState::kEnabled: return "enabled";
    case lnet::RoutingState::kStopping: return "stopping";
    case lnet::RoutingState::kStarting: return "starting";
  }
  return "unknown";
}

}  // namespace

std::string debugfs_stats(const lnet::StatisticsReport& counted) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}\n", counted.msgs_alloc, counted.msgs_max,
                     counted.errors, counted.send_count, counted.recv_count, counted.route_count,
                     counted.drop_count, counted.send_length, counted.recv_length,
                     counted.route_length, counted.drop_length);
}

std::string debugfs_nis(std::span<const lnet::NetReport> nets) {
  std::string text = fmt::format("{:<24} {:>6} {:>5} {:>4} {:>4} {:>4} {:>5} {:>5} {:>5}\n", "nid",
                                 "status", "alive", "refs", "peer", "rtr", "max", "tx", "min");
  for (const lnet::NetReport& net : nets) {
    for (const lnet::NiReport& ni : net.nis) {
      const bool loopback = ni.nid.is_loopback();
      for (const lnet::TxQueueReport& queue : ni.tx_queues) {
        text +=
            fmt::format("{:<24} {:>6} {:>5} {:>4} {:>4} {:>4} {:>5} {:>5} {:>5}\n", text_of(ni.nid),
                        up_or_down(ni.up || loopback), loopback ? 0 : ni.since_alive_s,
                        queue.references, ni.tunables.peer_credits, ni.tunables.peer_buffer_credits,
                        queue.credits_max, queue.credits, queue.credits_min);
      }
    }
  }
  return text;
}

std::string debugfs_peers(std::span<const lnet::PeerReport> peers) {
  std::string text =
      fmt::format("{:<24} {:>4} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {}\n", "nid", "refs",
                  "state", "last", "max", "rtr", "min", "tx", "min", "queue");
  constexpr int kLastAlive = -1;  // the kernel's, ever since health took its place
  for (const lnet::PeerReport& peer : peers) {
    for (const lnet::PeerNiReport& ni : peer.nis) {
      text += fmt::format("{:<24} {:>4} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {}\n",
                          text_of(ni.nid), ni.refcount, word_of(ni.state), kLastAlive,
                          ni.max_ni_tx_credits, ni.available_rtr_credits, ni.min_rtr_credits,
                          ni.available_tx_credits, ni.min_tx_credits, ni.tx_q_num_of_buf);
    }
  }
  return text;
}

std::string debugfs_buffers(const lnet::RoutingReport& routing) {
  std::string text = fmt::format("{:>5} {:>5} {:>7} {:>7}\n", "pages", "count", "credits", "min");
  if (routing.state == lnet::RoutingState::kDisabled) return text;
  using OfCpt = lnet::RoutingReport::OfCpt;
  for (const auto pool : {&OfCpt::tiny, &OfCpt::small, &OfCpt::large}) {
    for (const OfCpt& cpt : routing.cpts) {
      const lnet::BufferPoolReport& report = cpt.*pool;
      text += fmt::format("{:>5} {:>5} {:>7} {:>7}\n", report.pages, report.buffers, report.credits,
                          report.credits_min);
    }
  }
  return text;
}

std::string debugfs_routes(const lnet::RoutingReport& routing,
                           std::span<const lnet::RouteReport> routes) {
  std::string text = fmt::format("Routing {}\n", word_of(routing.state));
  text += fmt::format("{:<8} {:>4} {:>8} {:>7} {}\n", "net", "hops", "priority", "state", "router");
  for (const lnet::RouteReport& report : routes) {
    text += fmt::format("{:<8} {:>4} {:>8} {:>7} {}\n", lnet::text_of_net(report.route.net),
                        report.route.hops, report.route.priority, up_or_down(report.up),
                        text_of(report.route.gateway));
  }
  return text;
}

std::string debugfs_routers(std::span<const lnet::GatewayReport> routers) {
  std::string text = fmt::format("{:<4} {:>7} {:>5} {}\n", "ref", "rtr_ref", "alive", "router");
  for (const lnet::GatewayReport& router : routers) {
    text += fmt::format("{:<4} {:>7} {:>5} {}\n", router.references, router.routes,
                        up_or_down(router.up), text_of(router.primary));
  }
  return text;
}

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Reports of objects that LNDs keep in numbered slots, such as connections, gathered from the
// shards that own them: NI by NI, a page of slots in each visit, between two turns, so that a node
// with thousands of them is not delayed. NIs and objects may appear and disappear meanwhile:
// permanent ones are seen once.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "lib/lnet/node/connection_report.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_desk.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {

// Objects read in one order: reading a socket costs some ten system calls, a few microseconds.
inline constexpr unsigned kSeenAtOnce = 16;
// Slots visited in one order, most of them empty.
inline constexpr unsigned kSlotsAtOnce = 2048;

// `Of` has types Report and Seen, and functions about the host's objects: slots(host, shard, nid),
// 0 if there is no such NI; look(host, node, shard, nid, slot, query) on the shard, nothing for an
// empty slot or one that does not match the query; tell(seen, host) on the admin thread.
template <class Of, class Host>
struct SlotWalk {
  struct Row {
    lnet::Nid local;
    unsigned shard = 0;
    typename Of::Seen seen;
  };

  LnetDesk::Progress visit(lnet::Node& node, unsigned shard, Host& host) {
    if (!nids && shard == 0) list_nis(node);
    if (!nids) return LnetDesk::Progress::kDone;  // LNet came up during the tour
    const std::size_t full = rows.size() + kSeenAtOnce;
    unsigned passed = 0;
    for (; ni < nids->size(); ++ni, slot = 0) {
      const lnet::Nid& local = (*nids)[ni];
      const std::uint32_t slots = Of::slots(host, shard, local);
      for (; slot < slots; ++slot) {
        if (rows.size() == full || passed++ == kSlotsAtOnce) return LnetDesk::Progress::kAgain;
        if (auto seen = Of::look(host, node, shard, local, slot, query))
          rows.push_back({local, shard, *seen});
      }
    }
    ni = 0;
    return LnetDesk::Progress::kDone;
  }

  // Only shard 0 may read the coordinator's NIs.
  void list_nis(lnet::Node& node) {
    nids.emplace();
    for (const lnet::Ni* const each : node.coordinator().local().nis) {
      if (!query.net || *query.net == each->net) nids->push_back(each->nid);
    }
  }

  lnet::ConnectionQuery query;
  std::optional<std::vector<lnet::Nid>> nids{};
  std::size_t ni = 0;
  std::uint32_t slot = 0;
  std::deque<Row> rows{};  // grows on the shards without moving its elements
};

// kNetworkDown: LNet has gone down. An empty result is no error.
template <class Of, class Host>
void report_slots(LnetDesk& desk, Host& host, const lnet::ConnectionQuery& query,
                  lnet::Reply<std::vector<typename Of::Report>> reply) {
  using Walk = SlotWalk<Of, Host>;
  gather_from_shards(
      desk, Walk{.query = query},
      [&host](lnet::Node& node, unsigned shard, Walk& walk) {
        return walk.visit(node, shard, host);
      },
      [&host, reply = std::move(reply)](Outcome<Walk>&& walk) mutable {
        if (!walk) return reply(std::unexpected(std::move(walk.error())));
        if (!walk->nids) return reply(failure(Errc::kNetworkDown, "Network is down"));
        std::vector<typename Of::Report> reports;
        for (const auto& [local, shard, seen] : walk->rows) {
          auto& told = reports.emplace_back(Of::tell(seen, host));
          told.local = local;
          told.shard = static_cast<lnet::ShardId>(shard);
        }
        reply(std::move(reports));
      });
}

}  // namespace plnet::node

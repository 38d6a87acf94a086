// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/lnd_metrics.hpp"

#include <string>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/open_families.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {

namespace {

// On the shard. A removed NI is in no view any more, though its LND may still exist.
void find_on(lnet::Node& node, const OpenFamilies& families, unsigned shard,
             std::vector<runtime::MetricSet>& found) {
  const lnet::LocalView& local = *node.shared().local.load(std::memory_order_acquire);
  for (const auto& port : node.shard(shard).ports()) {
    const lnet::Nid& nid = port->ni().nid;
    if (local.ni(nid) != &port->ni()) continue;
    const CounterView view = port->lnd().counters();
    if (view.info.empty()) continue;
    found.push_back({.object = "lnd_" + std::string(port->lnd().traits().name),
                     .labels = {{"nid", text_of(nid)}, {"shard", std::to_string(shard)}},
                     .view = view});
    for (const auto& host : families.hosts())
      host->find_counters(shard, nid, found);
  }
}

}  // namespace

void LndMetrics::let_go() {
  for (const auto id : ids_)
    metrics_.remove(id);
  ids_.clear();
}

void LndMetrics::gather(LnetDesk::After after) {
  let_go();
  using Found = std::vector<runtime::MetricSet>;
  gather_from_shards(
      desk_, Found{},
      [families = &host_.families()](lnet::Node& node, unsigned shard, Found& found) {
        find_on(node, *families, shard, found);
      },
      [this, after = std::move(after)](Outcome<Found>&& found) mutable {
        // Without an answer the LNDs have no metrics until the next change of NIs.
        for (runtime::MetricSet& set : std::move(found).value_or(Found{}))
          ids_.push_back(metrics_.add(std::move(set.object), std::move(set.labels), set.view));
        after();
      });
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/lnd_metrics.hpp"

#include <string>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/open_families.hpp"

namespace plnet::node {

struct LndMetrics::Job {
  std::vector<runtime::MetricSet> found;
  LnetDesk::After after;
};

namespace {

// On the shard. An NI that was removed is in no view any more, though its LND may still be there.
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
  auto job = std::make_shared<Job>();
  job->after = std::move(after);
  ask(job, 0);
}

void LndMetrics::ask(const std::shared_ptr<Job>& job, unsigned shard) {
  if (shard < host_.shards()) {
    auto sent = desk_.order(
        shard,
        [job, shard, families = &host_.families()](lnet::Node& node) {
          find_on(node, *families, shard, job->found);
        },
        [this, job, shard] { ask(job, shard + 1); });
    if (sent) return;  // else nobody counts this time
    job->found.clear();
  }
  for (runtime::MetricSet& set : job->found)
    ids_.push_back(metrics_.add(std::move(set.object), std::move(set.labels), set.view));
  job->after();
}

}  // namespace plnet::node

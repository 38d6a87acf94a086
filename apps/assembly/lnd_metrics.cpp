// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/lnd_metrics.hpp"

#include <string>
#include <utility>

#include "apps/assembly/kfi_host.hpp"
#include "apps/assembly/lnet_host.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::apps {

struct LndMetrics::Job {
  std::vector<runtime::MetricSet> found;
  LnetDesk::After after;
};

namespace {

// On the shard: what lies under an LND.
void find_under(KfiHost& kfi, unsigned shard, const lnet::Ni& ni,
                std::vector<runtime::MetricSet>& found) {
  KfiNi* const there = kfi.place(shard).ni(ni.nid);
  if (there == nullptr) return;
  found.push_back({.object = there->context().is_cassini() ? "cassini" : "ofi",
                   .labels = {{"nid", text_of(ni.nid)}, {"shard", std::to_string(shard)}},
                   .view = there->context().driver().counters()});
}

// On the shard. An NI that was removed is in no view any more, though its LND may still be there.
void find_on(lnet::Node& node, KfiHost* kfi, unsigned shard,
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
    if (kfi != nullptr) find_under(*kfi, shard, port->ni(), found);
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
        [job, shard, kfi = host_.kfi()](lnet::Node& node) {
          find_on(node, kfi, shard, job->found);
        },
        [this, job, shard] { ask(job, shard + 1); });
    if (sent) return;  // else nobody counts this time
    job->found.clear();
  }
  for (runtime::MetricSet& set : job->found)
    ids_.push_back(metrics_.add(std::move(set.object), std::move(set.labels), set.view));
  job->after();
}

}  // namespace plnet::apps

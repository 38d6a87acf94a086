// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/load_reports.hpp"

#include <memory>
#include <utility>

#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_host.hpp"

namespace plnet::node {
namespace {

struct LoadJob {
  const Clock& clock;
  const unsigned shards;
  lnet::Reply<lnet::LoadSnapshot> reply;
  lnet::LoadSnapshot snapshot;
};

void ask(LnetDesk& desk, const std::shared_ptr<LoadJob>& job, unsigned shard) {
  if (shard == job->shards) return job->reply(std::move(job->snapshot));
  auto sent = desk.order(
      shard,
      [job, shard](lnet::Node& node) {
        node.shard(shard).core().load.copy_owner(job->snapshot, job->clock.now());
      },
      [&desk, job, shard] { ask(desk, job, shard + 1); });
  if (!sent) job->reply(std::unexpected(sent.error()));
}

}  // namespace

void report_load(LnetDesk& desk, const LnetHost& host, lnet::Reply<lnet::LoadSnapshot> reply) {
  ask(desk, std::make_shared<LoadJob>(host.clock(), host.shards(), std::move(reply)), 0);
}

}  // namespace plnet::node

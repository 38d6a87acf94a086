// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/path_reports.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "lib/lnet/control/selection_policies.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::node {
namespace {

struct PathJob {
  lnet::PathQuestion question;
  lnet::Reply<lnet::PathReport> reply;
  unsigned shard = 0;
  // The coordinator's words, for whichever shard that is.
  lnet::RouteTroubles troubles{};
  std::optional<lnet::PeerWelcome> welcome{};
  std::optional<lnet::PathReport> report{};
};

void look(lnet::Node& node, PathJob& job) {
  const lnet::ShardCore& core = node.shard(job.shard).core();
  job.report =
      lnet::report_path(job.question, core.shared.directory->find(job.question.destination),
                        {.local = core.local(),
                         .routes = core.routes(),
                         .sequences = core.sequences,
                         .parameters = core.shared.parameters,
                         .shards = core.shared.shards,
                         .access = core.shared.access.load(std::memory_order_acquire),
                         .from = core.shared.directory->find(job.question.source),
                         .cpt = core.cpt,
                         .distances = core.shared.distances,
                         .peers = &core.peers,
                         .troubles = &job.troubles,
                         .welcome = job.welcome ? &*job.welcome : nullptr});
}

// Shard 0.
void prepare(lnet::Node& node, PathJob& job) {
  const lnet::ShardCore& core = node.shard(0).core();
  const lnet::PeerDirectory& directory = *core.shared.directory;
  const auto& [source, destination] = job.question;
  if (const auto* bringer = lnet::bringer_of(source, directory.find(source), core.routes()))
    job.shard = bringer->home;
  job.troubles = lnet::troubles_of(core.routes());
  if (directory.find(destination) == nullptr)
    job.welcome = node.coordinator().policies().welcome(destination);
}

void ask(LnetDesk& desk, const std::shared_ptr<PathJob>& job) {
  auto sent = desk.order(
      job->shard, [job](lnet::Node& node) { look(node, *job); },
      [job] {
        if (!job->report) return job->reply(failure(Errc::kNetworkDown, "Network is down"));
        job->reply(std::move(*job->report));
      });
  if (!sent) job->reply(std::unexpected(sent.error()));
}

}  // namespace

void report_path_of(LnetDesk& desk, const lnet::PathQuestion& question,
                    lnet::Reply<lnet::PathReport> reply) {
  auto job = std::make_shared<PathJob>(question, std::move(reply));
  auto sent = desk.order(
      0, [job](lnet::Node& node) { prepare(node, *job); }, [&desk, job] { ask(desk, job); });
  if (!sent) job->reply(std::unexpected(sent.error()));
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/path_reports.hpp"

#include <optional>
#include <utility>

#include "lib/lnet/control/selection_policies.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/peers/peer_directory.hpp"
#include "node/host/shard_question.hpp"

namespace plnet::node {
namespace {

// The shard that chooses, and the facts of the coordinator that it needs.
struct Chooser {
  unsigned shard = 0;
  lnet::RouteTroubles troubles{};
  std::optional<lnet::PeerWelcome> welcome{};
};

lnet::PathReport look(lnet::Node& node, const lnet::PathQuestion& question,
                      const Chooser& chooser) {
  const lnet::ShardCore& core = node.shard(chooser.shard).core();
  return lnet::report_path(question, core.shared.directory->find(question.destination),
                           {.local = core.local(),
                            .routes = core.routes(),
                            .sequences = core.sequences,
                            .parameters = core.shared.parameters,
                            .shards = core.shared.shards,
                            .now = core.now,
                            .access = core.shared.access.load(std::memory_order_acquire),
                            .from = core.shared.directory->find(question.source),
                            .cpt = core.cpt,
                            .distances = core.shared.distances,
                            .peers = &core.peers,
                            .troubles = &chooser.troubles,
                            .welcome = chooser.welcome ? &*chooser.welcome : nullptr});
}

// On shard 0.
Chooser chooser_of(lnet::Node& node, const lnet::PathQuestion& question) {
  const lnet::ShardCore& core = node.shard(0).core();
  const lnet::PeerDirectory& directory = *core.shared.directory;
  const auto& [source, destination] = question;
  Chooser chooser{.troubles = lnet::troubles_of(core.routes())};
  if (const auto* bringer = lnet::bringer_of(source, directory.find(source), core.routes()))
    chooser.shard = bringer->home;
  if (directory.find(destination) == nullptr)
    chooser.welcome = node.coordinator().policies().welcome(destination);
  return chooser;
}

}  // namespace

void report_path_of(LnetDesk& desk, const lnet::PathQuestion& question,
                    lnet::Reply<lnet::PathReport> reply) {
  ask_node(
      desk, [question](lnet::Node& node) { return chooser_of(node, question); },
      [&desk, question, reply = std::move(reply)](Outcome<Chooser>&& chooser) mutable {
        if (!chooser) return reply(std::unexpected(std::move(chooser.error())));
        const unsigned shard = chooser->shard;
        ask_shard(
            desk, shard,
            [question, chooser = std::move(*chooser)](lnet::Node& node) {
              return look(node, question, chooser);
            },
            std::move(reply));
      });
}

}  // namespace plnet::node

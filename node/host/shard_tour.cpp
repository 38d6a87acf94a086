// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/shard_tour.hpp"

#include "node/host/shard_question.hpp"

namespace plnet::node {
namespace {

struct Turns : std::enable_shared_from_this<Turns> {
  Turns(std::size_t count_of, Step step_of, lnet::Reply<void> done_of)
      : count(count_of), step(std::move(step_of)), done(std::move(done_of)) {}

  void go_on() {
    if (next == count) return done({});
    step(next++, [self = shared_from_this()](Outcome<void>&& ended) {
      if (!ended) return self->done(std::move(ended));
      self->go_on();
    });
  }

  const std::size_t count;
  Step step;
  lnet::Reply<void> done;
  unsigned next = 0;
};

// Visits the shard again until it has no further piece, then ends the step.
void visit_shard(LnetDesk& desk, const std::shared_ptr<ShardVisit>& visit, unsigned shard,
                 lnet::Reply<void> ended) {
  ask_shard(
      desk, shard, [visit, shard](lnet::Node& node) { return (*visit)(node, shard); },
      [&desk, visit, shard,
       ended = std::move(ended)](Outcome<LnetDesk::Progress>&& progress) mutable {
        const bool no_node = !progress && progress.error().code == Errc::kNetworkDown;
        if (no_node || progress == LnetDesk::Progress::kDone) return ended({});
        if (!progress) return ended(std::unexpected(std::move(progress.error())));
        visit_shard(desk, visit, shard, std::move(ended));
      });
}

}  // namespace

void in_turn(std::size_t count, Step step, lnet::Reply<void> done) {
  std::make_shared<Turns>(count, std::move(step), std::move(done))->go_on();
}

void tour_shards(LnetDesk& desk, ShardVisit visit, lnet::Reply<void> done) {
  in_turn(
      desk.shards(),
      [&desk, visit = std::make_shared<ShardVisit>(std::move(visit))](unsigned shard,
                                                                      lnet::Reply<void> ended) {
        visit_shard(desk, visit, shard, std::move(ended));
      },
      std::move(done));
}

}  // namespace plnet::node

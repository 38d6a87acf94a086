// SPDX-License-Identifier: BSD-3-Clause
// Work on one shard after the other, without a wait of the admin thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "lib/lnet/node/lnet_control.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

// Runs the steps 0 to `count` - 1, each after the end of the one before, then calls `done`. The
// first error ends the sequence.
using Step = std::move_only_function<void(unsigned number, lnet::Reply<void> ended)>;
void in_turn(std::size_t count, Step step, lnet::Reply<void> done);

// Runs `visit` on each shard that has a node, one after the other, and repeats it on the same shard
// while it returns kAgain: long lists are visited in pieces. An order that the desk refuses ends
// the tour.
using ShardVisit = std::move_only_function<LnetDesk::Progress(lnet::Node& node, unsigned shard)>;
void tour_shards(LnetDesk& desk, ShardVisit visit, lnet::Reply<void> done);

// A tour whose visits add to `gathered`; `reply` gets it at the end. A visit that returns void has
// no further pieces.
template <class Gathered, class Visit, class Reply>
void gather_from_shards(LnetDesk& desk, Gathered gathered, Visit visit, Reply reply) {
  const auto all = std::make_shared<Gathered>(std::move(gathered));
  tour_shards(
      desk,
      [all, visit = std::move(visit)](lnet::Node& node, unsigned shard) mutable {
        if constexpr (std::is_void_v<
                          std::invoke_result_t<Visit&, lnet::Node&, unsigned, Gathered&>>) {
          visit(node, shard, *all);
          return LnetDesk::Progress::kDone;
        } else {
          return visit(node, shard, *all);
        }
      },
      [all, reply = std::move(reply)](Outcome<void>&& over) mutable {
        if (!over) return reply(Outcome<Gathered>(std::unexpected(std::move(over.error()))));
        reply(Outcome<Gathered>(std::move(*all)));
      });
}

}  // namespace plnet::node

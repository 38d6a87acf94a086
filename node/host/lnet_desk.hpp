// SPDX-License-Identifier: BSD-3-Clause
// How the admin thread has something done by LNet's shards, and hears of it: orders that are run
// between two turns, and errands that end there some time later. The admin thread never waits, the
// shards neither.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/poll/event_doorbell.hpp"

namespace plnet::lnet {
class Node;
}

namespace plnet::runtime {
class Poller;
}

namespace plnet::node {

class LnetHost;

// Something that ends on shard 0 and is then told of on the admin thread.
class Homecoming {
 public:
  virtual ~Homecoming() = default;
  virtual void came_home() = 0;
};

class LnetDesk {
 public:
  // Errands under way at a time, for which the way home has room: of everybody together. Each sort
  // has a bound of its own, so that none is in the way of another.
  static constexpr std::size_t kErrandsMax = 128;
  // Of the orders that a poller's channel has room for; the rest is for others.
  static constexpr std::size_t kOrdersOut = 16;
  // Orders that wait for that. One per request of a client, so this many clients would have to ask.
  static constexpr std::size_t kOrdersWaiting = 4096;

  using Work = std::move_only_function<void(lnet::Node& node)>;
  using After = std::move_only_function<void()>;
  enum class Progress : std::uint8_t { kDone, kAgain };
  using Attempt = std::move_only_function<Outcome<Progress>(lnet::Node& node)>;

  // All outlive the desk.
  LnetDesk(LnetHost& host, runtime::EventLoop& loop) : host_(host), loop_(loop) {}
  ~LnetDesk();
  LnetDesk(const LnetDesk&) = delete;
  LnetDesk& operator=(const LnetDesk&) = delete;

  // From now on pollers turn, and orders go to them. Until then all is done at once, by the caller.
  [[nodiscard]] Outcome<void> open(std::vector<runtime::Poller*> pollers);
  // Pollers turn no longer.
  void close();

  // `work` on the shard, if it has a node then; `after` here. kAgain: too many wait.
  [[nodiscard]] Outcome<void> order(unsigned shard, Work work, After after);
  // `attempt` on the shard, again and again until it is done, fails, or `bound` has passed
  // (kTimedOut). `done` is called once.
  void attempt(unsigned shard, Attempt attempt, Duration bound, lnet::Reply<void> done);
  // `set_node_owner` on every shard.
  void place_everywhere(lnet::Node* node, After after);

  // Shard 0, of an errand that was counted by begin_errand().
  void send_home_owner(Homecoming& errand);
  // False: kErrandsMax are under way.
  [[nodiscard]] bool begin_errand();
  // One that never got to the shard.
  void end_errand() { --errands_; }

  [[nodiscard]] runtime::EventLoop& loop() { return loop_; }
  [[nodiscard]] unsigned shards() const;

 private:
  static constexpr std::size_t kRing = kErrandsMax;
  struct Order {
    std::move_only_function<void()> work;
    After after;
  };
  struct Trial;

  [[nodiscard]] Outcome<void> submit(unsigned shard, Order order);
  void send_waiting(unsigned shard);
  void try_again(const std::shared_ptr<Trial>& trial);
  void try_alone(Trial& trial);
  void collect_home();

  SpscRing<Homecoming*> home_{kRing};
  runtime::EventDoorbell home_bell_;
  LnetHost& host_;
  runtime::EventLoop& loop_;
  std::size_t errands_ = 0;
  std::vector<runtime::Poller*> pollers_;  // empty: nobody turns
  std::vector<std::deque<Order>> waiting_;
  std::vector<std::size_t> out_;
};

}  // namespace plnet::node

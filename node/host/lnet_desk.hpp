// SPDX-License-Identifier: BSD-3-Clause
// Requests of the admin thread to LNet's shards, and their completions: orders run between two
// turns, and errands that complete some time later. Neither side waits for the other.
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

// An errand: it completes on shard 0, which then notifies the admin thread.
class Homecoming {
 public:
  virtual ~Homecoming() = default;
  virtual void came_home() = 0;
};

class LnetDesk {
 public:
  // Limit of all errands under way, and room of the ring for completions. Each kind of errand has
  // its own lower limit, so that none blocks another.
  static constexpr std::size_t kErrandsMax = 128;
  // The desk's part of the room in a poller's command channel.
  static constexpr std::size_t kOrdersOut = 16;
  // Limit of orders in a queue. A client has one order at a time, so it takes as many clients to
  // fill the queue.
  static constexpr std::size_t kOrdersWaiting = 4096;

  using Work = std::move_only_function<void(lnet::Node& node)>;
  using After = std::move_only_function<void()>;
  enum class Progress : std::uint8_t { kDone, kAgain };
  using Attempt = std::move_only_function<Outcome<Progress>(lnet::Node& node)>;

  // All arguments outlive the desk.
  LnetDesk(LnetHost& host, runtime::EventLoop& loop) : host_(host), loop_(loop) {}
  ~LnetDesk();
  LnetDesk(const LnetDesk&) = delete;
  LnetDesk& operator=(const LnetDesk&) = delete;

  // After this, orders go to the pollers. Before it, the caller's thread runs them at once.
  [[nodiscard]] Outcome<void> open(std::vector<runtime::Poller*> pollers);
  // After the pollers have stopped.
  void close();

  // Runs `work` on the shard if it has a node then, and `after` on this thread. kAgain: the queue
  // is full.
  [[nodiscard]] Outcome<void> order(unsigned shard, Work work, After after);
  // Runs `attempt` on the shard until it is done, fails, or `bound` has passed (kTimedOut). Calls
  // `done` once.
  void attempt(unsigned shard, Attempt attempt, Duration bound, lnet::Reply<void> done);
  // Runs set_node_owner() on every shard.
  void place_everywhere(lnet::Node* node, After after);

  // On shard 0, for an errand that begin_errand() has counted.
  void send_home_owner(Homecoming& errand);
  // False: kErrandsMax are under way.
  [[nodiscard]] bool begin_errand();
  // For an errand that could not be sent to the shard.
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
  std::vector<runtime::Poller*> pollers_;  // empty: no poller turns
  std::vector<std::deque<Order>> waiting_;
  std::vector<std::size_t> out_;
};

}  // namespace plnet::node

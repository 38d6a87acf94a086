// SPDX-License-Identifier: BSD-3-Clause
// How the admin thread has something done on a shard: a small object that the poller runs between
// two turns and sends home. The admin thread never touches a shard's state by itself.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/base/ring.hpp"
#include "lib/runtime/poll/event_doorbell.hpp"

namespace plnet::runtime {

class Command {
 public:
  virtual ~Command() = default;
  // On the shard, between turns: bounded, never blocks.
  virtual void run() = 0;
  // On the admin thread, after run(), when it drains what came home.
  virtual void completed() {}
};

// Wraps callables: `work` runs on the shard, `after` (optional) on the admin thread.
template <class Work, class After>
[[nodiscard]] std::unique_ptr<Command> make_command(Work work, After after) {
  struct Calls final : Command {
    Calls(Work w, After a) : work(std::move(w)), after(std::move(a)) {}
    void run() override { work(); }
    void completed() override { after(); }
    Work work;
    After after;
  };
  return std::make_unique<Calls>(std::move(work), std::move(after));
}
template <class Work>
[[nodiscard]] std::unique_ptr<Command> make_command(Work work) {
  return make_command(std::move(work), [] {});
}

// One per poller. Two rings, there and home; a command belongs to the channel until it is home, so
// that giving up on waiting for it is always safe.
class CommandChannel {
 public:
  // Enough for one of each kind of setting to be on its way; the admin thread waits beyond that.
  static constexpr std::size_t kCommandsMax = 64;

  // `clock` bounds waits only. `shard_doorbell` wakes the poller; it outlives the channel.
  CommandChannel(const Clock& clock, Doorbell& shard_doorbell);
  // With the poller stopped. Commands that never ran are dropped unrun.
  ~CommandChannel();
  CommandChannel(const CommandChannel&) = delete;
  CommandChannel& operator=(const CommandChannel&) = delete;

  // Admin thread. kAgain if kCommandsMax are out (drain() and try again).
  [[nodiscard]] Result<void> submit(std::unique_ptr<Command> command);
  // Admin thread. Calls completed() on what came home, returns how many.
  unsigned drain();
  // Admin thread. Waits until nothing is out; false if `bound` passed first: the poller is stuck or
  // not running. May be called again.
  [[nodiscard]] bool wait(Duration bound);
  // Admin thread. How many are out.
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }
  // Its descriptor turns readable when a command came home; for the admin thread's epoll, which
  // answers with clear() and drain(). Always armed.
  [[nodiscard]] EventDoorbell& completion_doorbell() { return home_doorbell_; }

  // Owner, between turns. Runs what is there, at most kCommandsMax; returns how many.
  unsigned run_pending_owner();

 private:
  SpscRing<Command*> outward_;
  SpscRing<Command*> homeward_;
  EventDoorbell home_doorbell_;
  const Clock& clock_;
  Doorbell& shard_doorbell_;
  std::size_t outstanding_ = 0;  // the admin thread's
};

}  // namespace plnet::runtime

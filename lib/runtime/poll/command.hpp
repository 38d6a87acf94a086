// SPDX-License-Identifier: BSD-3-Clause
// A request of the admin thread to a shard: a small object that the poller runs between two turns
// and sends back. The admin thread never touches a shard's state itself.
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
  // On the admin thread, after run(), when drain() receives the command.
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

// One per poller, with a ring in each direction. The channel owns a command until it has returned,
// so that the admin thread may stop waiting for it at any time.
class CommandChannel {
 public:
  // Enough for one of each kind of setting; the admin thread waits beyond that.
  static constexpr std::size_t kCommandsMax = 64;

  // `clock` bounds waits only. `shard_doorbell` wakes the poller; it outlives the channel.
  CommandChannel(const Clock& clock, Doorbell& shard_doorbell);
  // With the poller stopped. Commands that did not run are dropped.
  ~CommandChannel();
  CommandChannel(const CommandChannel&) = delete;
  CommandChannel& operator=(const CommandChannel&) = delete;

  // Admin thread. kAgain if kCommandsMax are outstanding (drain() and try again).
  [[nodiscard]] Result<void> submit(std::unique_ptr<Command> command);
  // Admin thread. Calls completed() on returned commands, returns their number.
  unsigned drain();
  // Admin thread. Waits until none is outstanding; false if `bound` passed first: the poller hangs
  // or does not run. May be called again.
  [[nodiscard]] bool wait(Duration bound);
  // Admin thread. Number of outstanding commands.
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }
  // Its descriptor turns readable when a command returned; for the admin thread's epoll, which
  // answers with clear() and drain(). Always armed.
  [[nodiscard]] EventDoorbell& completion_doorbell() { return home_doorbell_; }

  // Owner, between turns. Runs waiting commands, at most kCommandsMax; returns their number.
  unsigned run_pending_owner();

 private:
  SpscRing<Command*> outward_;
  SpscRing<Command*> homeward_;
  EventDoorbell home_doorbell_;
  const Clock& clock_;
  Doorbell& shard_doorbell_;
  std::size_t outstanding_ = 0;  // used by the admin thread
};

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/command.hpp"

#include <algorithm>

#include <poll.h>
#include <time.h>

#include "lib/base/check.hpp"

namespace plnet::runtime {
namespace {

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

CommandChannel::CommandChannel(const Clock& clock, Doorbell& shard_doorbell)
    : outward_(kCommandsMax),
      homeward_(kCommandsMax),
      clock_(clock),
      shard_doorbell_(shard_doorbell) {
  // The admin thread waits in ppoll() or epoll all the time, so its doorbell stays armed.
  home_doorbell_.arm_for_good();
}

CommandChannel::~CommandChannel() {
  Command* command = nullptr;
  while (outward_.pop(command))
    delete command;
  while (homeward_.pop(command))
    delete command;
}

Result<void> CommandChannel::submit(std::unique_ptr<Command> command) {
  PLNET_CHECK(command != nullptr, "a command to run");
  if (outstanding_ == kCommandsMax) return std::unexpected(Errc::kAgain);
  const bool pushed = outward_.push(command.get());
  PLNET_CHECK(pushed, "the ring holds as many commands as may be out");
  command.release();  // NOLINT(bugprone-unused-return-value): the ring has it now
  ++outstanding_;
  shard_doorbell_.ring();
  return {};
}

unsigned CommandChannel::drain() {
  unsigned count = 0;
  Command* raw = nullptr;
  while (homeward_.pop(raw)) {
    const std::unique_ptr<Command> command(raw);
    PLNET_CHECK(outstanding_ > 0, "a returned command was submitted");
    --outstanding_;
    ++count;
    command->completed();
  }
  return count;
}

bool CommandChannel::wait(Duration bound) {
  const Instant deadline = clock_.now() + bound;
  for (;;) {
    home_doorbell_.clear();
    drain();
    if (outstanding_ == 0) return true;
    const Duration left = deadline - clock_.now();
    if (left <= Duration::zero()) return false;
    pollfd home{.fd = home_doorbell_.descriptor(), .events = POLLIN, .revents = 0};
    const timespec timeout = to_timespec(left);
    // The result does not matter: the loop checks the ring and the clock.
    (void)::ppoll(&home, 1, &timeout, nullptr);
  }
}

unsigned CommandChannel::run_pending_owner() {
  unsigned count = 0;
  Command* command = nullptr;
  while (count < kCommandsMax && outward_.pop(command)) {
    command->run();
    ++count;
    const bool pushed = homeward_.push(command);
    PLNET_CHECK(pushed, "the way home has room for every command");
  }
  if (count > 0) home_doorbell_.ring();
  return count;
}

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Requests of this shard to other NICs: messages, and reads, writes and answers of tagged buffers.
// Every operation is one DMA command and ends with its ACK or REPLY.
#pragma once

#include <cstdint>
#include <vector>

#include "drivers/net/cassini/command_queue.hpp"
#include "drivers/net/cassini/commands.hpp"
#include "drivers/net/cassini/context.hpp"
#include "drivers/net/cassini/event_queue.hpp"

namespace plnet::cassini {

// Blocks of registered memory that operations borrow.
struct Blocks {
  Blocks(std::span<std::byte> small, std::uint32_t small_bytes, std::span<std::byte> large,
         std::uint32_t large_bytes, std::span<std::byte> nobody_misses)
      : messages(small, small_bytes), bulk(large, large_bytes), spare(nobody_misses) {}

  [[nodiscard]] DeviceAddress address(std::span<const std::byte> bytes) const {
    return {.iova = mapping.iova + reinterpret_cast<std::uintptr_t>(bytes.data()) - mapping.va,
            .lac = mapping.lac};
  }

  BlockPool messages;
  BlockPool bulk;
  std::span<std::byte> spare;  // a few bytes for empty operations
  Mapping mapping;             // of the memory of both
};

struct TxLimits {
  unsigned operations_max = 1024;
  // Time of repeating a request to a peer without a buffer. With the kernel's 0.5 ms a sender fails
  // whenever the receiver stalls briefly; kfilnd's own timeouts are far longer.
  Duration not_ready_time = std::chrono::milliseconds(500);
  // The same for a tagged buffer, as in the kernel: its tag may soon name another one.
  Duration remote_not_ready_time = std::chrono::microseconds(500);
};

class Transmitter {
 public:
  Transmitter(Context& context, Blocks& blocks, const TxLimits& limits);

  struct Request {
    Process to;
    unsigned receive_context = 0;
    std::uint64_t cookie = 0;
  };
  [[nodiscard]] Result<void> send(const Request& request, std::span<const std::byte> header,
                                  const lnet::Payload& payload);
  [[nodiscard]] Result<void> read(const Request& request, kfilnd::Tag tag,
                                  const lnet::Payload& into);
  [[nodiscard]] Result<void> write(const Request& request, kfilnd::Tag tag,
                                   const lnet::Payload& from);
  [[nodiscard]] Result<void> answer(const Request& request, kfilnd::Tag tag, std::uint64_t data);

  // The queues exist (again).
  void attach(const CommandQueue& commands, const EventQueue& events);
  // Processes up to `limit` events.
  unsigned poll(unsigned limit);
  // Posts operations whose time has come, and rings for everything that was posted.
  void flush();
  // The time of the next repetition; Instant::max() if none waits.
  [[nodiscard]] Instant next_deadline() const {
    return waiting_.empty() ? Instant::max() : operations_[waiting_.front()].due;
  }
  // Ends waiting operations; those under way end by their events.
  void shut_down();
  // After a failure: ends operations that the NIC has not begun. True: begun ones have ended too.
  [[nodiscard]] bool drain(Errc why);
  // Operations that have still not ended stay out of use with their memory. Only copied ones are
  // reported: the memory of the others must not be reused, so their completions never come.
  void quarantine(Errc why);
  // The queues have been destroyed.
  void detach();
  // Not reported yet.
  [[nodiscard]] unsigned in_flight() const { return in_flight_; }
  [[nodiscard]] const CommandQueue& commands() const { return commands_; }
  [[nodiscard]] const EventQueue& events() const { return events_; }
  // Waiting to be repeated.
  [[nodiscard]] unsigned not_ready() const { return static_cast<unsigned>(waiting_.size()); }

 private:
  // First and longest pause before a request to a peer without a buffer is repeated.
  static constexpr Duration kPauseMin = std::chrono::microseconds(20);
  static constexpr Duration kPauseMax = std::chrono::milliseconds(10);
  static constexpr unsigned kRepostsMax = 64;  // in one turn

  struct Operation {
    DmaCommand::Words command{};
    std::uint64_t cookie = 0;
    std::uint64_t end = 0;  // position of its command's end in the queue
    Instant deadline{};
    Instant due{};
    lnet::Payload sink{};  // of a bounced read
    std::uint32_t length = 0;
    std::uint32_t block = BlockPool::kNone;
    std::uint32_t generation = 0;
    Duration pause{};
    bool message = false;  // the block belongs to a message, and its end is reported as kSent
    bool in_use = false;
    bool waiting = false;
    bool direct = false;  // the NIC accesses the payload's own memory
    bool quarantined = false;
  };

  [[nodiscard]] Result<std::uint32_t> take();
  void give(std::uint32_t index);
  [[nodiscard]] Result<void> post(std::uint32_t index, const Request& request, DmaCommand command);
  // The local end of a bulk operation: the payload's own memory or a block.
  [[nodiscard]] Result<DeviceAddress> local(Operation& operation, const lnet::Payload& payload);
  [[nodiscard]] bool push(const DmaCommand::Words& command);
  void on_event(const Event& event);
  void on_done(std::uint32_t index, const Event& event, const InitiatorEvent& decoded);
  void repost();
  [[nodiscard]] bool may_wait(const Operation& operation, ReturnCode code) const;
  void wait(std::uint32_t index);
  void tell(const Operation& operation, Result<void> status);
  void finish(std::uint32_t index, Result<void> status);

  Context& context_;
  Blocks& blocks_;
  TxLimits limits_;
  CommandQueue commands_;
  EventQueue events_;
  std::vector<Operation> operations_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> waiting_;  // a heap, the earliest first; capacity: every operation
  unsigned in_flight_ = 0;
  bool events_lost_ = false;
};

}  // namespace plnet::cassini

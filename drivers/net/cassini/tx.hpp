// SPDX-License-Identifier: BSD-3-Clause
// What this shard asks of other NICs: messages, and reads, writes and answers of tagged buffers.
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
  std::span<std::byte> spare;  // a few bytes for the ends of empty operations
  Mapping mapping;             // of the memory that both are in
};

struct TxLimits {
  unsigned operations_max = 1024;
  // How long a peer without a buffer is asked again. The kernel's 0.5 ms fails a sender whenever
  // the receiver is held up once; kfilnd's own timeouts are far above this.
  Duration not_ready_time = std::chrono::milliseconds(500);
  // The same of a tagged buffer, as long as the kernel: its tag may soon name another one.
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

  // The queues are there, again.
  void attach(const CommandQueue& commands, const EventQueue& events);
  // Takes in what has ended: at most so many events.
  unsigned poll(unsigned limit);
  // Posts what waits for its time, and rings for everything that was posted.
  void flush();
  // Of what waits to be posted once more; Instant::max() if nothing does.
  [[nodiscard]] Instant next_deadline() const {
    return waiting_.empty() ? Instant::max() : operations_[waiting_.front()].due;
  }
  // Ends what waits; what is under way ends by its event.
  void shut_down();
  // After a failure: ends what the NIC has not begun. True: what it had begun has ended too.
  [[nodiscard]] bool drain(Errc why);
  // What has still not ended is kept out of use with its memory. Told is only what was copied: the
  // memory of the others must stay put, so that their completions never come.
  void quarantine(Errc why);
  // The queues are gone.
  void detach();
  // Not told yet.
  [[nodiscard]] unsigned in_flight() const { return in_flight_; }
  [[nodiscard]] const CommandQueue& commands() const { return commands_; }
  [[nodiscard]] const EventQueue& events() const { return events_; }
  // Wait to be posted once more.
  [[nodiscard]] unsigned not_ready() const { return static_cast<unsigned>(waiting_.size()); }

 private:
  // First and longest pause before a peer without a buffer is asked again.
  static constexpr Duration kPauseMin = std::chrono::microseconds(20);
  static constexpr Duration kPauseMax = std::chrono::milliseconds(10);
  static constexpr unsigned kRepostsMax = 64;  // of one turn

  struct Operation {
    DmaCommand::Words command{};
    std::uint64_t cookie = 0;
    std::uint64_t end = 0;  // of its command in the queue
    Instant deadline{};
    Instant due{};
    lnet::Payload sink{};  // of a bounced read
    std::uint32_t length = 0;
    std::uint32_t block = BlockPool::kNone;
    std::uint32_t generation = 0;
    Duration pause{};
    bool message = false;  // the block is a message's, and the end is told as kSent
    bool in_use = false;
    bool waiting = false;
    bool direct = false;  // the NIC works on the payload's own memory
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

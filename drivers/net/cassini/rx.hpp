// SPDX-License-Identifier: BSD-3-Clause
// Accesses of other NICs to this shard's memory: messages into multi-receive buffers, and one
// operation on each tagged buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "drivers/net/cassini/context.hpp"
#include "drivers/net/cassini/event_queue.hpp"
#include "drivers/net/cassini/list_entry.hpp"
#include "drivers/net/cassini/portal_table.hpp"
#include "drivers/net/cassini/tx.hpp"

namespace plnet::cassini {

struct RxLimits {
  unsigned tagged_max = 1024;
  unsigned buffers_max = 64;    // multi-receive
  std::uint64_t bytes_max = 0;  // of these together; bounds the number of events
  std::uint32_t message_bytes_max = 4096;
  unsigned min_free_shift = 0;  // the device's
};

class Receiver {
 public:
  Receiver(Context& context, Blocks& blocks, Backend& backend, const RxLimits& limits);

  [[nodiscard]] Result<void> post_tagged(Process from, kfilnd::Tag tag, bool peer_reads,
                                         const lnet::Payload& buffer, std::uint64_t cookie);
  [[nodiscard]] Result<void> cancel_tagged(kfilnd::Tag tag);
  [[nodiscard]] Result<void> post_multi_receive(const Fragment& buffer, std::uint64_t cookie);

  // The queues and the portal exist (again).
  void attach(const CommandQueue& commands, const EventQueue& events, const PortalTable& portal);
  // Processes up to `limit` events.
  unsigned poll(unsigned limit);
  // Posts entries whose time has come, and rings for everything that was posted.
  void flush();
  [[nodiscard]] Instant next_deadline() const { return next_due_; }
  // Cancels all buffers that no peer has used.
  void shut_down();
  // Ends everything: the NIC accesses none of it any more.
  void abort(Errc why);
  [[nodiscard]] unsigned in_use() const { return entries_.in_use(); }
  [[nodiscard]] const PortalTable& portal() const { return portal_; }
  [[nodiscard]] const CommandQueue& commands() const { return commands_; }
  [[nodiscard]] const EventQueue& events() const { return events_; }
  [[nodiscard]] const ListEntries& entries() const { return entries_; }

 private:
  static constexpr unsigned kWorkMax = 64;  // appends and unlinks of one turn
  // Pauses before a failed append is repeated.
  static constexpr Duration kPauseMin = std::chrono::microseconds(50);
  static constexpr unsigned kPauseDoublings = 8;

  // The fields of a PUT or GET event, for both event sizes.
  struct Arrival {
    EventType type = EventType::kNull;
    ReturnCode code = ReturnCode::kNoEvent;
    std::uint64_t match_bits = 0;
    std::uint64_t header_data = 0;
    std::uint64_t start = 0;
    std::uint32_t length = 0;
    std::uint32_t wanted = 0;
    bool auto_unlinked = false;
    bool has_start = false;
  };

  void add_work(unsigned id, ListEntry& entry, Instant due);
  void work();
  // False: no room in the queue.
  [[nodiscard]] bool work_on(unsigned id, ListEntry& entry);
  [[nodiscard]] bool push(const TargetCommand& command);
  void on_event(const Event& event);
  void on_arrival(unsigned id, ListEntry& entry, const Arrival& arrival);
  void on_message(unsigned id, ListEntry& entry, const Arrival& arrival);
  void on_tagged(unsigned id, ListEntry& entry, const Arrival& arrival);
  void on_link(unsigned id, ListEntry& entry, ReturnCode code);
  void on_unlink(unsigned id, ListEntry& entry, const TargetLongEvent& event, ReturnCode code);
  void taken_back(unsigned id, ListEntry& entry);
  void end(unsigned id, ListEntry& entry, const kfilnd::FabricCompletion& completion);
  void release(unsigned id, ListEntry& entry);
  [[nodiscard]] unsigned min_free() const;

  Context& context_;
  Blocks& blocks_;
  Backend& backend_;
  RxLimits limits_;
  CommandQueue commands_;
  EventQueue events_;
  PortalTable portal_;
  ListEntries entries_;
  unsigned tagged_ = 0;
  unsigned buffers_ = 0;
  std::uint64_t bytes_ = 0;  // of them
  // Ids of entries to append or unlink. Each is listed once, so the list is bounded by their
  // number.
  std::vector<std::uint16_t> work_;
  Instant next_due_ = Instant::max();
  bool events_lost_ = false;  // reported once
};

}  // namespace plnet::cassini

// SPDX-License-Identifier: BSD-3-Clause
// Reads the events of the connection manager and of RDMA devices for the whole node: one channel,
// read by the coordinator's shard, with one system call for each look. The desk moves each event to
// the inbox of its device and acknowledges it at once: the destruction of an identifier waits only
// for the desk, some microseconds.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "drivers/net/mlx/connection.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/base/ring.hpp"

namespace plnet::mlx {

class Adapter;

struct ChannelFree {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
using Channel = std::unique_ptr<rdma_event_channel, ChannelFree>;

// The error has the text "ibv_reg_mr: Cannot allocate memory".
[[nodiscard]] std::unexpected<Error> verbs_failure(const char* call, int number);
[[nodiscard]] bool set_nonblocking(int descriptor);

// A copy of an event of the connection manager.
struct CmEvent {
  rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_RESOLVED;
  rdma_cm_id* id = nullptr;
  QueuePairId connection;  // index ~0: a listener, a request, or one given away
  int status = 0;
  std::size_t data_bytes = 0;
  std::array<std::byte, o2iblnd::kAcceptDataBytesMax> data{};

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data.data(), data_bytes}; }
};

// Events on their way from the desk to one of its users, whose shard takes them.
class EventInbox {
 public:
  static constexpr std::size_t kWaitingMax = 64;  // further events wait at the desk

  // Called by the desk. False: the inbox is full.
  [[nodiscard]] bool put(const CmEvent& event) { return waiting_.push(event); }
  // Called by the user's shard. False: the inbox is empty.
  [[nodiscard]] bool take(CmEvent& event) { return waiting_.pop(event); }

 private:
  SpscRing<CmEvent> waiting_{kWaitingMax};
};

// The context of an identifier for the desk: the inbox, and the connection of its device.
class IdWord {
 public:
  static constexpr unsigned kInboxBits = 12;

  // The word of a listener. Inbox 0: no user takes the events of the identifier.
  [[nodiscard]] static IdWord of_inbox(std::uint32_t inbox) { return {inbox, {kIndexMask, 0}}; }
  IdWord(std::uint32_t inbox, const QueuePairId& connection)
      : word_(std::uint64_t{inbox} << (32U + Connections::kIndexBits) |
              std::uint64_t{connection.index & kIndexMask} << 32U | connection.generation) {}
  [[nodiscard]] static IdWord on(rdma_cm_id& id) {
    const std::atomic_ref<void*> there(id.context);
    IdWord word(0, {});
    word.word_ = reinterpret_cast<std::uintptr_t>(there.load(std::memory_order_acquire));
    return word;
  }
  // Any shard may call this while the desk reads the identifier.
  void put_on(rdma_cm_id& id) const {
    std::atomic_ref<void*>(id.context).store(context(), std::memory_order_release);
  }
  [[nodiscard]] void* context() const { return std::bit_cast<void*>(word_); }
  [[nodiscard]] std::uint32_t inbox() const {
    return static_cast<std::uint32_t>(word_ >> (32U + Connections::kIndexBits));
  }
  [[nodiscard]] QueuePairId connection() const {
    const auto index = static_cast<std::uint32_t>(word_ >> 32U) & kIndexMask;
    return {index == kIndexMask ? ~0U : index, static_cast<std::uint32_t>(word_)};
  }

 private:
  static constexpr std::uint32_t kIndexMask = (1U << Connections::kIndexBits) - 1;
  std::uintptr_t word_ = 0;
};
static_assert(IdWord::kInboxBits + Connections::kIndexBits + 32 == 64);
static_assert(sizeof(std::uintptr_t) == 8);

// Adapters of each context: librdmacm has one context for all addresses of a device.
class ContextUsers {
 public:
  void add(const ibv_context* context) { ++users_[context]; }
  // True: that was the last one.
  bool remove(const ibv_context* context) {
    PLNET_CHECK(users_.contains(context), "only a known context is left");
    if (--users_[context] > 0) return false;
    users_.erase(context);
    return true;
  }

 private:
  std::unordered_map<const ibv_context*, unsigned> users_;
};

class EventDesk {
 public:
  // Interval between two looks for events.
  static constexpr Duration kInterval = std::chrono::microseconds(200);
  static constexpr std::size_t kInboxesMax = (std::size_t{1} << IdWord::kInboxBits) - 1;

  [[nodiscard]] static Outcome<std::shared_ptr<EventDesk>> open();
  ~EventDesk();
  EventDesk(const EventDesk&) = delete;
  EventDesk& operator=(const EventDesk&) = delete;

  // Any thread. Identifiers are made on this channel.
  [[nodiscard]] rdma_event_channel* channel() const { return channel_.get(); }

  // The thread that opens adapters.
  [[nodiscard]] ContextUsers& contexts() { return contexts_; }
  // Any thread, cold. The desk is a user of the adapter until the adapter leaves: when no poller
  // runs any more, or the device was removed. An adapter that has not entered may leave, too.
  [[nodiscard]] Outcome<void> enter(Adapter& adapter);
  void leave(Adapter& adapter);
  // Any thread, cold. Returns the number of an inbox, or 0 if none is free. The user leaves when
  // its identifiers are gone.
  [[nodiscard]] std::uint32_t enter();
  void leave(std::uint32_t inbox);
  // Called by the user of the inbox.
  [[nodiscard]] EventInbox& inbox(std::uint32_t number) {
    PLNET_CHECK(number > 0 && number <= kInboxesMax, "the user has entered");
    return *desks_[number - 1].inbox;
  }

  // One shard. Looks for events once an interval and returns their number.
  unsigned poll(Instant now);

 private:
  EventDesk() = default;
  static constexpr std::size_t kAdaptersMax = 64;
  enum class State : std::uint8_t { kFree, kEntering, kTaken, kLeft };
  struct Desk {
    std::atomic<State> state{State::kFree};
    std::unique_ptr<EventInbox> inbox;  // made with the first user
  };
  // An event whose inbox is full. The desk reads no other event before this one is delivered.
  struct Stuck {
    std::uint32_t inbox = 0;
    CmEvent event;
  };

  void clear_left();
  void let_removed_go();
  unsigned read_cm_events();
  void bring(std::uint32_t inbox, const CmEvent& event);
  void note_removal(const ibv_context* device);
  // Releases an event that no user takes.
  static void discard(const CmEvent& event);

  Channel channel_;
  ContextUsers contexts_;
  int waiting_on_ = -1;  // descriptor of epoll
  std::array<std::atomic<Adapter*>, kAdaptersMax> adapters_{};
  const std::unique_ptr<Desk[]> desks_ = std::make_unique<Desk[]>(kInboxesMax);
  std::atomic<std::uint32_t> desks_used_{0};  // the largest number so far
  std::atomic<bool> some_left_{false};
  std::optional<Stuck> stuck_;
  Instant look_at_{};
};

}  // namespace plnet::mlx

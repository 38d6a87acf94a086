// SPDX-License-Identifier: BSD-3-Clause
// Events of the connection manager and of devices, for all that a node has on them: one channel,
// read by one shard, the coordinator's, with one system call for each look. It brings each event to
// the inbox of the device that it is for, and acknowledges it at once: who destroys an identifier
// waits for nobody but the desk, some microseconds.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "drivers/net/mlx/connection.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/base/ring.hpp"

namespace plnet::mlx {

class Adapter;

struct ChannelFree {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
};
using Channel = std::unique_ptr<rdma_event_channel, ChannelFree>;

// "ibv_reg_mr: Cannot allocate memory".
[[nodiscard]] std::unexpected<Error> verbs_failure(const char* call, int number);
[[nodiscard]] bool set_nonblocking(int descriptor);

// A copy of an event of the connection manager.
struct CmEvent {
  rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_RESOLVED;
  rdma_cm_id* id = nullptr;
  QueuePairId connection;  // index ~0: of a listener, a request, or given away
  int status = 0;
  std::size_t data_bytes = 0;
  std::array<std::byte, o2iblnd::kAcceptDataBytesMax> data{};

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data.data(), data_bytes}; }
};

// Events on their way from the desk to one of its users, whose shard takes them.
class EventInbox {
 public:
  static constexpr std::size_t kWaitingMax = 64;  // beyond it they wait at the desk

  // The desk's. False: it is full.
  [[nodiscard]] bool put(const CmEvent& event) { return waiting_.push(event); }
  // The user's. False: it is empty.
  [[nodiscard]] bool take(CmEvent& event) { return waiting_.pop(event); }

 private:
  SpscRing<CmEvent> waiting_{kWaitingMax};
};

// The word that an identifier has for the desk: the inbox, and the connection of that device.
class IdWord {
 public:
  static constexpr unsigned kInboxBits = 12;

  // Of a listener, and with inbox 0 of an identifier that nobody hears of.
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
  // Any shard, while the desk may look at the identifier.
  void put_on(rdma_cm_id& id) const {
    std::atomic_ref<void*>(id.context).store(context(), std::memory_order_release);
  }
  [[nodiscard]] void* context() const { return reinterpret_cast<void*>(word_); }
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
    if (--users_[context] > 0) return false;
    users_.erase(context);
    return true;
  }

 private:
  std::unordered_map<const ibv_context*, unsigned> users_;
};

class EventDesk {
 public:
  // Events are looked for this often.
  static constexpr Duration kInterval = std::chrono::microseconds(200);
  static constexpr std::size_t kInboxesMax = (std::size_t{1} << IdWord::kInboxBits) - 1;

  [[nodiscard]] static Outcome<std::shared_ptr<EventDesk>> open();
  ~EventDesk();
  EventDesk(const EventDesk&) = delete;
  EventDesk& operator=(const EventDesk&) = delete;

  // Any thread: identifiers are made on it.
  [[nodiscard]] rdma_event_channel* channel() const { return channel_.get(); }

  // The thread that opens adapters.
  [[nodiscard]] ContextUsers& contexts() { return contexts_; }
  // Any thread, cold. The desk is a user of the adapter until it leaves, when nobody polls any more
  // or the device was removed. An adapter that is not there may leave, too.
  [[nodiscard]] Outcome<void> enter(Adapter& adapter);
  void leave(Adapter& adapter);
  // Any thread, cold. The number of an inbox, until the user leaves: when its identifiers are gone.
  // 0: there is none left.
  [[nodiscard]] std::uint32_t enter();
  void leave(std::uint32_t inbox);
  // The user's.
  [[nodiscard]] EventInbox& inbox(std::uint32_t number) { return *desks_[number - 1].inbox; }

  // One shard. Looks if it is time to, and returns how many events there were.
  unsigned poll(Instant now);

 private:
  EventDesk() = default;
  static constexpr std::size_t kAdaptersMax = 64;
  enum class State : std::uint8_t { kFree, kEntering, kTaken, kLeft };
  struct Desk {
    std::atomic<State> state{State::kFree};
    std::unique_ptr<EventInbox> inbox;  // made with the first user
  };
  // One for which there was no room; nothing else is read before.
  struct Stuck {
    std::uint32_t inbox = 0;
    CmEvent event;
  };

  void clear_left();
  void let_removed_go();
  unsigned read_cm_events();
  void bring(std::uint32_t inbox, const CmEvent& event);
  void note_removal(const ibv_context* device);
  // Of an event that nobody takes.
  static void discard(const CmEvent& event);

  Channel channel_;
  ContextUsers contexts_;
  int waiting_on_ = -1;  // of epoll
  std::array<std::atomic<Adapter*>, kAdaptersMax> adapters_{};
  const std::unique_ptr<Desk[]> desks_ = std::make_unique<Desk[]>(kInboxesMax);
  std::atomic<std::uint32_t> desks_used_{0};  // the numbers up to it
  std::atomic<bool> some_left_{false};
  std::optional<Stuck> stuck_;
  Instant look_at_{};
};

}  // namespace plnet::mlx

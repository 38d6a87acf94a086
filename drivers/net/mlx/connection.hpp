// SPDX-License-Identifier: BSD-3-Clause
// A queue pair, its identifier for the connection manager, and the requests posted on it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::mlx {

using o2iblnd::QueuePairId;

inline constexpr std::uint32_t kInlineBytes = 64;  // NOOP and DONE have at most 60
// Send requests of a queue pair, at most: a chain of 257 writes and its message, twice. Deeper
// queues would only need larger completion queues.
inline constexpr unsigned kChainMax = 258;
inline constexpr unsigned kSendRequestsMax = 2 * kChainMax;

// Requests that have not completed, in order: queue pairs complete in the order of posting.
template <class T>
class PostedRing {
 public:
  // Cold. Forgets all requests.
  void resize(std::size_t capacity) {
    PLNET_CHECK(empty(), "a ring changes its size between two connections");
    const std::size_t slots = std::bit_ceil(capacity);
    if (slots > slots_.size()) slots_.resize(slots);
    mask_ = slots_.size() - 1;
    begin_ = end_ = 0;
  }
  [[nodiscard]] std::uint32_t size() const { return end_ - begin_; }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  // The number that the next one gets.
  [[nodiscard]] std::uint32_t next() const { return end_; }
  void push(const T& object) {
    PLNET_CHECK(size() < slots_.size(), "a ring has room for all requests of a queue pair");
    slots_[end_++ & mask_] = object;
  }
  // Whether the one with this number has not been popped.
  [[nodiscard]] bool has(std::uint32_t number) const { return number - begin_ < size(); }
  [[nodiscard]] std::uint32_t first() const { return begin_; }
  [[nodiscard]] const T& front() const {
    PLNET_CHECK(!empty(), "the oldest request has not completed");
    return slots_[begin_ & mask_];
  }
  [[nodiscard]] const T& at(std::uint32_t number) const {
    PLNET_CHECK(has(number), "the request has not completed");
    return slots_[number & mask_];
  }
  void pop() {
    PLNET_CHECK(!empty(), "a request completes once");
    ++begin_;
  }

 private:
  std::vector<T> slots_;
  std::size_t mask_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
};

struct PostedChain {
  std::uint64_t cookie = 0;       // of the last request
  std::uint64_t part_cookie = 0;  // of those before it
  std::uint32_t requests = 0;
  std::uint32_t mapped = 0;  // mappings of its payload
};

// A connect request that is handed to another shard. Its holder owns the identifier.
struct HandedRequest {
  rdma_cm_id* id = nullptr;
  o2iblnd::Ipv4Endpoint from;
  o2iblnd::Ipv4Endpoint to;
  std::size_t data_bytes = 0;
  std::array<std::byte, o2iblnd::kConnectDataBytesMax> data{};

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data.data(), data_bytes}; }
};

struct Connection : ListNode<> {
  enum class State : std::uint8_t {
    kFree,
    kRequested,   // a peer asks; without a queue pair until prepare()
    kConnecting,  // from the resolution of the address to the answer
    kAccepting,
    kEstablished,
    kDraining,  // in error: until all flushes have come
  };

  QueuePairId name;
  State state = State::kFree;
  bool active = false;  // we have asked
  rdma_cm_id* id = nullptr;
  ibv_qp* pair = nullptr;
  ibv_qp_ex* extended = nullptr;  // of a provider with ibv_wr_*
  unsigned send_room = 0;         // requests
  unsigned receive_room = 0;
  unsigned completions = 0;     // entries that it may need of the completion queue
  bool marker_is_back = false;  // the last request, posted in error: every flush came before it
  bool failed = false;          // one of its requests
  unsigned held = 0;            // failed receives, reported when it has drained
  Instant drain_deadline{};
  PostedRing<PostedChain> chains;
  PostedRing<std::uint32_t> mapped;     // memory maps of these chains, in their order
  PostedRing<std::uint64_t> receives;   // cookies
  HandedRequest request;                // from a peer that connects
  rdma_conn_param parameters{};         // for a connect that waits for its route
  std::vector<std::byte> data;          // private data for the same connect
  std::atomic<bool> broken = false;     // set by any shard after a device event
  std::atomic<bool> overtaken = false;  // a message came before the CM event
};

// The connections of one shard, all made at start.
class Connections {
 public:
  static constexpr unsigned kIndexBits = 20;
  static constexpr unsigned kGenerationBits = 10;

  explicit Connections(std::size_t most);

  // Null: all are in use.
  [[nodiscard]] Connection* take();
  // Null: gone.
  [[nodiscard]] Connection* find(QueuePairId name);
  [[nodiscard]] Connection* find(std::uint32_t index, std::uint32_t generation_bits);
  void give(Connection& connection);
  [[nodiscard]] bool all_free() const { return free_.size() == most_; }
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = 0; i < most_; ++i) {
      if (all_[i].state != Connection::State::kFree) visit(all_[i]);
    }
  }

 private:
  std::size_t most_;
  std::unique_ptr<Connection[]> all_;
  std::vector<std::uint32_t> free_;
};

// The number of a work request as the device brings it back.
struct WorkName {
  // The last request of a chain, one before it, a receive.
  enum class Kind : std::uint8_t { kChain, kPart, kReceive };
  static constexpr unsigned kKindBits = 2;

  Kind kind = Kind::kChain;
  std::uint32_t connection = 0;  // index
  std::uint32_t generation = 0;  // its low bits
  std::uint32_t number = 0;      // in its ring

  [[nodiscard]] static WorkName of(Kind kind, const Connection& connection, std::uint32_t number) {
    PLNET_DEBUG_CHECK(connection.name.index < 1U << Connections::kIndexBits,
                      "the index fits into the name");
    constexpr std::uint32_t kMask = (1U << Connections::kGenerationBits) - 1;
    return {kind, connection.name.index, connection.name.generation & kMask, number};
  }
  [[nodiscard]] std::uint64_t packed() const {
    return static_cast<std::uint64_t>(kind) << (64U - kKindBits) |
           static_cast<std::uint64_t>(generation) << (32U + Connections::kIndexBits) |
           static_cast<std::uint64_t>(connection) << 32U | number;
  }
  [[nodiscard]] static WorkName unpacked(std::uint64_t word) {
    constexpr std::uint32_t kIndexMask = (1U << Connections::kIndexBits) - 1;
    constexpr std::uint32_t kGenerationMask = (1U << Connections::kGenerationBits) - 1;
    return {static_cast<Kind>(word >> (64U - kKindBits)),
            static_cast<std::uint32_t>(word >> 32U) & kIndexMask,
            static_cast<std::uint32_t>(word >> (32U + Connections::kIndexBits)) & kGenerationMask,
            static_cast<std::uint32_t>(word)};
  }
};
static_assert(WorkName::kKindBits + Connections::kIndexBits + Connections::kGenerationBits + 32 ==
              64);

}  // namespace plnet::mlx

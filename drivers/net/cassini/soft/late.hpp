// SPDX-License-Identifier: BSD-3-Clause
// Operations that a fabric has not ended, by the time of their next step: with freedom of order
// all, otherwise those that are too long to move in one step. A fixed number; messages of one
// connection keep their order of arrival.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "drivers/net/cassini/soft/message.hpp"

namespace plnet::cassini::soft {

inline constexpr unsigned kImmediateMax = 224;

class Nic;

// One operation between its command and its last event.
struct Flight {
  enum class Stage : std::uint8_t {
    kArrives,
    kTellsTarget,
    kTellsInitiator,
    kMoves,  // without freedom: slice after slice, then both ends are notified
  };
  Message message;
  Completion completion;
  // The NICs themselves, whatever their present addresses are.
  Nic* source = nullptr;
  Nic* target = nullptr;  // after its arrival
  LocalBuffer local;
  Delivery delivery;
  Outcome outcome;          // for the initiator, after the bytes have moved
  std::uint32_t moved = 0;  // bytes
  Stage stage = Stage::kArrives;
  bool used = false;
  bool all_moved = false;
  bool target_told = false;
  std::array<std::byte, kImmediateMax> bytes{};  // of an immediate command
};

class Late {
 public:
  explicit Late(unsigned flights) : flights_(flights), last_arrival_(kConnections) {
    free_.reserve(flights);
    // Each flight waits for at most two events, so their heap never grows later.
    std::vector<Due> room;
    room.reserve(2ULL * flights);
    due_ = decltype(due_)(std::greater<>(), std::move(room));
    for (unsigned i = flights; i-- > 0;)
      free_.push_back(i);
  }
  [[nodiscard]] bool room() const { return !free_.empty(); }
  [[nodiscard]] bool empty() const { return due_.empty(); }
  [[nodiscard]] std::uint64_t next_due() const {
    return due_.empty() ? UINT64_MAX : due_.top().at_ns;
  }
  [[nodiscard]] unsigned take();
  void give_back(unsigned flight);
  [[nodiscard]] Flight& operator[](unsigned flight) { return flights_[flight]; }
  [[nodiscard]] std::vector<Flight>& flights() { return flights_; }

  void schedule(unsigned flight, Flight::Stage stage, std::uint64_t at_ns);
  // Not before earlier messages of the same connection.
  [[nodiscard]] std::uint64_t in_order(const Message& message, std::uint64_t at_ns);
  // The next flight due by `now_ns`, or kNone.
  static constexpr unsigned kNone = ~0U;
  [[nodiscard]] unsigned pop(std::uint64_t now_ns);

 private:
  struct Due {
    std::uint64_t at_ns;
    std::uint64_t order;  // of scheduling: first in, first out
    unsigned flight;
    Flight::Stage stage;
    bool operator>(const Due& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  std::vector<Flight> flights_;
  std::vector<unsigned> free_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  // By a hash of the connection: connections that share a row only keep an unneeded order.
  static constexpr std::size_t kConnections = 1024;
  std::vector<std::uint64_t> last_arrival_;
  std::uint64_t order_ = 0;
};

}  // namespace plnet::cassini::soft

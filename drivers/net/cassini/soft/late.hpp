// SPDX-License-Identifier: BSD-3-Clause
// Operations that a fabric has not ended yet, by the time at which something happens to them: with
// freedom of order all, else those that are too long to move in one step. A fixed number; messages
// of one connection keep their order of arrival.
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
    kMoves,  // without freedom: slice after slice, then both are told
  };
  Message message;
  Completion completion;
  // Whose it is, whatever their addresses are by now.
  Nic* source = nullptr;
  Nic* target = nullptr;  // once it has arrived
  LocalBuffer local;
  Delivery delivery;
  Outcome outcome;          // for the initiator, once the bytes have moved
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
    // Each waits for two things at most, so the heap of them never grows after this.
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
  // Not before what went the same way earlier.
  [[nodiscard]] std::uint64_t in_order(const Message& message, std::uint64_t at_ns);
  // The next that is due by `now_ns`, or `none`.
  static constexpr unsigned kNone = ~0U;
  [[nodiscard]] unsigned pop(std::uint64_t now_ns);

 private:
  struct Due {
    std::uint64_t at_ns;
    std::uint64_t order;  // first scheduled, first served
    unsigned flight;
    Flight::Stage stage;
    bool operator>(const Due& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  std::vector<Flight> flights_;
  std::vector<unsigned> free_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  // By a hash of the connection: those that share a row merely keep order among one another.
  static constexpr std::size_t kConnections = 1024;
  std::vector<std::uint64_t> last_arrival_;
  std::uint64_t order_ = 0;
};

}  // namespace plnet::cassini::soft

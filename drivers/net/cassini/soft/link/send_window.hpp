// SPDX-License-Identifier: BSD-3-Clause
// The packets to one peer that are not acknowledged: which goes next, which are lost, how long to
// wait. Knows no frames and no clock.
//
// A packet is lost when three after it have arrived, as long as none was seen to overtake another;
// when one sent after it has arrived and it itself did not for a round trip and a little more (the
// idea of RFC 8985), so that a packet sent again and lost again is found as well; and when nothing
// at all was acknowledged for the time of RoundTrip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/link/congestion.hpp"
#include "drivers/net/cassini/soft/link/options.hpp"
#include "drivers/net/cassini/soft/link/round_trip.hpp"
#include "drivers/net/cassini/soft/link/sequence.hpp"
#include "drivers/net/cassini/soft/link/slot_store.hpp"

namespace plnet::cassini::soft::link {

inline constexpr std::uint64_t kNever = UINT64_MAX;

class SendWindow {
 public:
  enum class State : std::uint8_t { kWaiting, kFlying, kLost, kArrived };
  struct Packet {
    std::uint64_t sent_at_ns = 0;
    Slot slot = kNoSlot;
    std::uint32_t length = 0;
    std::uint32_t checksum = 0;  // payload_checksum()
    std::uint32_t times_sent = 0;
    State state = State::kWaiting;
  };
  struct Outcome {
    bool is_valid = true;  // false: acknowledges what was never sent
    unsigned arrived = 0;
    unsigned lost = 0;
    bool backed_off = false;
  };

  // Start-up only.
  void set_up(const LinkOptions& options);
  // For another peer: nothing is known of the path. Must be empty.
  void reset();

  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] bool full() const { return end_ - first_ >= packets_.size(); }
  [[nodiscard]] Sequence first() const { return first_; }
  [[nodiscard]] Sequence end() const { return end_; }
  // The peer keeps no more than this.
  void set_limit(unsigned packets);

  // Not full.
  void push(Slot slot, std::uint32_t length, std::uint32_t checksum);
  // What should go onto the cable now: the lost first.
  [[nodiscard]] std::optional<Sequence> next();
  [[nodiscard]] const Packet& at(Sequence sequence) const { return packets_[sequence & mask_]; }
  void sent(Sequence sequence, std::uint64_t now_ns);

  // All before `ack` have come, and those of `bits`.
  Outcome on_ack(Sequence ack, std::span<const std::byte> bits, std::uint64_t now_ns,
                 SlotStore& store);
  void on_round_trip(std::uint64_t rtt_ns) { round_trip_.measured(rtt_ns); }
  // When to call on_deadline(); kNever while nothing flies.
  [[nodiscard]] std::uint64_t deadline_ns() const;
  struct Overdue {
    bool timed_out = false;
    unsigned lost = 0;
    bool backed_off = false;
  };
  Overdue on_deadline(std::uint64_t now_ns);

  // All that is not acknowledged goes again, under the numbers that it has.
  void begin_session();
  // Time stood still for us; nothing is overdue yet.
  void forgive(std::uint64_t now_ns);
  // Returns how many packets that were.
  unsigned drop_all(SlotStore& store);

  [[nodiscard]] unsigned flying() const { return flying_; }
  [[nodiscard]] unsigned congestion_window() const { return congestion_.window(); }
  [[nodiscard]] unsigned timeouts_in_a_row() const { return timeouts_in_a_row_; }
  [[nodiscard]] const RoundTrip& round_trip() const { return round_trip_; }

 private:
  Packet& packet(Sequence sequence) { return packets_[sequence & mask_]; }
  // Counts it as arrived once.
  void arrived(Sequence sequence, std::uint64_t now_ns, Outcome& outcome);
  void arrived_by_bits(Sequence ack, std::span<const std::byte> bits, std::uint64_t now_ns,
                       Outcome& outcome);
  unsigned find_lost(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t patience_ns() const;

  const LinkOptions* options_ = nullptr;
  std::vector<Packet> packets_;  // by sequence
  std::uint32_t mask_ = 0;
  unsigned limit_ = 0;
  Sequence first_ = 0;     // not acknowledged
  Sequence next_new_ = 0;  // never sent
  Sequence end_ = 0;       // to be given to the next packet
  unsigned flying_ = 0;
  unsigned lost_ = 0;
  unsigned arrived_ = 0;    // by bits, ahead of first_
  unsigned again_ = 0;      // flying that were sent more than once
  Sequence look_from_ = 0;  // no lost one before this

  RoundTrip round_trip_;
  Congestion congestion_;
  std::uint64_t silent_since_ns_ = 0;  // the last progress, or the first send after none flew
  std::uint64_t look_at_ns_ = kNever;  // when the next may turn out to be lost
  unsigned timeouts_in_a_row_ = 0;
  // Of the packet sent last among those that arrived.
  std::uint64_t newest_sent_ns_ = 0;
  Sequence newest_ = 0;
  // How much overtaking is forgiven, in quarters of a round trip: more after a packet was sent
  // again for nothing, less again with time.
  unsigned tolerance_ = 1;
  unsigned calm_ = 0;
};

}  // namespace plnet::cassini::soft::link

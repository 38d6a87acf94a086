// SPDX-License-Identifier: BSD-3-Clause
// The unacknowledged packets to one peer: the next to send, the lost ones, the timeout. Knows no
// frames and no clock.
//
// A packet is lost in three cases. Three later ones have arrived, as long as no packet has been
// seen to overtake another. One sent after it has arrived, and it has not for slightly more than a
// round trip (the idea of RFC 8985), so that a packet lost again is found as well. Nothing at all
// was acknowledged for the timeout of RoundTrip.
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
    bool is_valid = true;  // false: acknowledges a packet that was never sent
    unsigned arrived = 0;
    unsigned lost = 0;
    bool backed_off = false;
  };

  // Start-up only.
  void set_up(const LinkOptions& options);
  // For another peer: nothing is known of the path. Requires an empty window.
  void reset();

  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] bool full() const { return end_ - first_ >= packets_.size(); }
  [[nodiscard]] Sequence first() const { return first_; }
  [[nodiscard]] Sequence end() const { return end_; }
  // The peer's limit of kept packets.
  void set_limit(unsigned packets);

  // Requires room.
  void push(Slot slot, std::uint32_t length, std::uint32_t checksum);
  // The next packet to send: lost ones first.
  [[nodiscard]] std::optional<Sequence> next();
  [[nodiscard]] const Packet& at(Sequence sequence) const { return packets_[sequence & mask_]; }
  void sent(Sequence sequence, std::uint64_t now_ns);

  // All packets before `ack` have arrived, and those of `bits`.
  Outcome on_ack(Sequence ack, std::span<const std::byte> bits, std::uint64_t now_ns,
                 SlotStore& store);
  void on_round_trip(std::uint64_t rtt_ns) { round_trip_.measured(rtt_ns); }
  // The time to call on_deadline(); kNever while nothing is in flight.
  [[nodiscard]] std::uint64_t deadline_ns() const;
  struct Overdue {
    bool timed_out = false;
    unsigned lost = 0;
    bool backed_off = false;
  };
  Overdue on_deadline(std::uint64_t now_ns);

  // All unacknowledged packets are sent again, with their old numbers.
  void begin_session();
  // This process was stopped for a while; nothing is overdue yet.
  void forgive(std::uint64_t now_ns);
  // Returns the number of dropped packets.
  unsigned drop_all(SlotStore& store);

  [[nodiscard]] unsigned flying() const { return flying_; }
  [[nodiscard]] unsigned congestion_window() const { return congestion_.window(); }
  [[nodiscard]] unsigned timeouts_in_a_row() const { return timeouts_in_a_row_; }
  [[nodiscard]] const RoundTrip& round_trip() const { return round_trip_; }

 private:
  // Each packet that was sent and has not left the window is in one of these states.
  [[nodiscard]] bool is_balanced() const {
    return flying_ + lost_ + arrived_ == next_new_ - first_ && again_ <= flying_;
  }
  Packet& packet(Sequence sequence) { return packets_[sequence & mask_]; }
  // Counts a packet as arrived, once.
  void arrived(Sequence sequence, std::uint64_t now_ns, Outcome& outcome);
  void arrived_by_bits(Sequence ack, std::span<const std::byte> bits, std::uint64_t now_ns,
                       Outcome& outcome);
  unsigned find_lost(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t patience_ns() const;

  const LinkOptions* options_ = nullptr;
  std::vector<Packet> packets_;  // by sequence
  std::uint32_t mask_ = 0;
  unsigned limit_ = 0;
  Sequence first_ = 0;     // the first unacknowledged one
  Sequence next_new_ = 0;  // the first one never sent
  Sequence end_ = 0;       // number of the next packet
  unsigned flying_ = 0;
  unsigned lost_ = 0;
  unsigned arrived_ = 0;    // by bits, after first_
  unsigned again_ = 0;      // in flight and sent more than once
  Sequence look_from_ = 0;  // no lost one before this

  RoundTrip round_trip_;
  Congestion congestion_;
  std::uint64_t silent_since_ns_ = 0;  // the last progress, or the first send after an idle time
  std::uint64_t look_at_ns_ = kNever;  // the time at which the next may turn out to be lost
  unsigned timeouts_in_a_row_ = 0;
  // The packet that was sent last among those that have arrived.
  std::uint64_t newest_sent_ns_ = 0;
  Sequence newest_ = 0;
  // Tolerance of reordering, in quarters of a round trip: grows after a needless retransmission,
  // shrinks with time.
  unsigned tolerance_ = 1;
  unsigned calm_ = 0;
};

}  // namespace plnet::cassini::soft::link

// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/send_window.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

namespace {

constexpr unsigned kToleranceMax = 8;    // two round trips
constexpr unsigned kCalmPackets = 4096;  // delivered in order until the tolerance shrinks
constexpr unsigned kManyLater = 3;       // as with TCP's duplicate acknowledgements
constexpr std::uint64_t kToleranceLeastNs = 5'000;

}  // namespace

void SendWindow::set_up(const LinkOptions& options) {
  PLNET_CHECK(std::has_single_bit(options.window) && options.window <= kWindowMax,
              "a window is a power of two");
  options_ = &options;
  packets_.resize(options.window);
  mask_ = options.window - 1;
  reset();
}

void SendWindow::reset() {
  PLNET_CHECK(empty(), "reset with packets of the last peer");
  round_trip_.reset();
  limit_ = static_cast<unsigned>(packets_.size());
  // The rest of the window is room to continue while lost packets are sent again, perhaps
  // repeatedly.
  congestion_.reset(std::max(limit_ / 4, Congestion::kLeast));
  newest_sent_ns_ = 0;
  tolerance_ = 1;
  calm_ = timeouts_in_a_row_ = 0;
  begin_session();
}

void SendWindow::set_limit(unsigned packets) {
  limit_ = std::clamp(packets, 1U, static_cast<unsigned>(packets_.size()));
}

void SendWindow::push(Slot slot, std::uint32_t length, std::uint32_t checksum) {
  PLNET_CHECK(!full(), "no room in the window");
  packet(end_) = {.slot = slot, .length = length, .checksum = checksum};
  ++end_;
}

std::optional<Sequence> SendWindow::next() {
  if (flying_ >= congestion_.window()) {
    congestion_.held_back();
    return std::nullopt;
  }
  if (lost_ > 0) {
    while (packet(look_from_).state != State::kLost) {
      ++look_from_;
      PLNET_CHECK(distance(look_from_, next_new_) > 0, "the lost are among those sent");
    }
    return look_from_;
  }
  if (next_new_ == end_ || next_new_ - first_ >= limit_) return std::nullopt;
  return next_new_;
}

void SendWindow::sent(Sequence sequence, std::uint64_t now_ns) {
  PLNET_DEBUG_CHECK(distance(first_, sequence) >= 0 && distance(sequence, end_) > 0,
                    "only packets of the window are sent");
  Packet& it = packet(sequence);
  if (it.state == State::kLost) {
    --lost_;
  } else {
    PLNET_CHECK(it.state == State::kWaiting && sequence == next_new_, "sent in turn");
    ++next_new_;
  }
  if (flying_ == 0) silent_since_ns_ = now_ns;
  it.state = State::kFlying;
  it.sent_at_ns = now_ns;
  if (++it.times_sent > 1) ++again_;
  ++flying_;
  PLNET_DEBUG_CHECK(is_balanced(), "a packet that was sent is under way, lost or arrived");
}

void SendWindow::arrived(Sequence sequence, std::uint64_t now_ns, Outcome& outcome) {
  Packet& it = packet(sequence);
  if (it.state == State::kArrived) return;
  if (it.state == State::kLost) --lost_;
  if (it.state == State::kFlying) {
    --flying_;
    if (it.times_sent > 1) --again_;
  }
  it.state = State::kArrived;
  ++outcome.arrived;
  const std::uint64_t took_ns = now_ns - it.sent_at_ns;
  if (it.times_sent > 1 && took_ns < round_trip_.least_ns() / 2) {
    // The answer is to the first transmission: it was late, not lost.
    tolerance_ = std::min(tolerance_ + 1, kToleranceMax);
    calm_ = 0;
    return;
  }
  if (it.sent_at_ns > newest_sent_ns_ ||
      (it.sent_at_ns == newest_sent_ns_ && distance(newest_, sequence) > 0)) {
    newest_sent_ns_ = it.sent_at_ns;
    newest_ = sequence;
  }
}

void SendWindow::arrived_by_bits(Sequence ack, std::span<const std::byte> bits,
                                 std::uint64_t now_ns, Outcome& outcome) {
  const auto ahead = static_cast<std::size_t>(next_new_ - ack);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bits.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits.data() + at, sizeof word);
    for (; word != 0; word &= word - 1) {
      const std::size_t offset = 1 + at * 8 + static_cast<std::size_t>(std::countr_zero(word));
      if (offset >= ahead) {
        outcome.is_valid = false;
        return;
      }
      const unsigned before = outcome.arrived;
      arrived(ack + static_cast<Sequence>(offset), now_ns, outcome);
      arrived_ += outcome.arrived - before;
    }
  }
}

SendWindow::Outcome SendWindow::on_ack(Sequence ack, std::span<const std::byte> bits,
                                       std::uint64_t now_ns, SlotStore& store) {
  Outcome outcome;
  if (distance(first_, ack) < 0) return outcome;  // overtaken by a later one
  if (distance(ack, next_new_) < 0) return {.is_valid = false};
  for (; first_ != ack; ++first_) {
    if (packet(first_).state == State::kArrived) --arrived_;
    arrived(first_, now_ns, outcome);
    store.give(packet(first_).slot);
    packet(first_).slot = kNoSlot;
  }
  if (distance(look_from_, first_) > 0) look_from_ = first_;
  arrived_by_bits(ack, bits, now_ns, outcome);
  if (outcome.arrived > 0) {
    silent_since_ns_ = now_ns;
    timeouts_in_a_row_ = 0;
    round_trip_.progress();
    calm_ += outcome.arrived;
    if (calm_ >= kCalmPackets) {
      calm_ = 0;
      tolerance_ = std::max(tolerance_ - 1, 1U);
    }
    outcome.backed_off = congestion_.on_delivered(outcome.arrived);
  }
  look_at_ns_ = kNever;
  if (flying_ > 0 && (arrived_ > 0 || again_ > 0 || packet(first_).sent_at_ns < newest_sent_ns_))
    outcome.lost = find_lost(now_ns);
  PLNET_DEBUG_CHECK(is_balanced(), "a packet that was sent is under way, lost or arrived");
  return outcome;
}

std::uint64_t SendWindow::patience_ns() const {
  const std::uint64_t rtt_ns = round_trip_.smoothed_ns();
  return rtt_ns + std::max(rtt_ns * tolerance_ / 4, kToleranceLeastNs);
}

unsigned SendWindow::find_lost(std::uint64_t now_ns) {
  unsigned found = 0;
  unsigned came_later = arrived_;  // later than the packet under examination
  look_at_ns_ = kNever;
  for (Sequence at = first_; at != next_new_; ++at) {
    Packet& it = packet(at);
    if (it.state == State::kArrived) --came_later;
    if (it.state != State::kFlying) continue;
    const bool is_overtaken = it.sent_at_ns < newest_sent_ns_ ||
                              (it.sent_at_ns == newest_sent_ns_ && distance(at, newest_) > 0);
    if (!is_overtaken) continue;
    // Without reordering on the path, no wait for late packets is needed.
    const bool is_plain = tolerance_ == 1 && it.times_sent == 1 && came_later >= kManyLater;
    const std::uint64_t due_ns = is_plain ? now_ns : it.sent_at_ns + patience_ns();
    if (due_ns > now_ns) {
      look_at_ns_ = std::min(look_at_ns_, due_ns);
      continue;
    }
    it.state = State::kLost;
    if (it.times_sent > 1) --again_;
    --flying_;
    ++lost_;
    ++found;
    if (distance(at, look_from_) > 0) look_from_ = at;
  }
  congestion_.on_lost(found);
  return found;
}

std::uint64_t SendWindow::deadline_ns() const {
  if (flying_ == 0) return kNever;
  return std::min(look_at_ns_, silent_since_ns_ + round_trip_.timeout_ns(*options_));
}

SendWindow::Overdue SendWindow::on_deadline(std::uint64_t now_ns) {
  Overdue overdue;
  if (flying_ == 0) return overdue;
  if (now_ns >= look_at_ns_) overdue.lost = find_lost(now_ns);
  if (flying_ == 0 || now_ns < silent_since_ns_ + round_trip_.timeout_ns(*options_)) return overdue;
  overdue.timed_out = true;
  overdue.backed_off = congestion_.on_timeout(flying_, ++timeouts_in_a_row_);
  for (Sequence at = first_; at != next_new_; ++at) {
    Packet& it = packet(at);
    if (it.state != State::kFlying) continue;
    it.state = State::kLost;
    ++lost_;
  }
  flying_ = again_ = 0;
  look_from_ = first_;
  look_at_ns_ = kNever;
  round_trip_.back_off();
  silent_since_ns_ = now_ns;
  PLNET_DEBUG_CHECK(is_balanced(), "a packet that was sent is under way, lost or arrived");
  return overdue;
}

void SendWindow::begin_session() {
  for (Sequence at = first_; at != next_new_; ++at) {
    packet(at).state = State::kWaiting;
    packet(at).times_sent = 0;
  }
  next_new_ = look_from_ = first_;
  flying_ = lost_ = arrived_ = again_ = 0;
  look_at_ns_ = kNever;
  newest_ = first_;
}

void SendWindow::forgive(std::uint64_t now_ns) {
  silent_since_ns_ = now_ns;
  look_at_ns_ = kNever;
}

unsigned SendWindow::drop_all(SlotStore& store) {
  const unsigned count = end_ - first_;
  for (; first_ != end_; ++first_)
    store.give(packet(first_).slot);
  next_new_ = first_;
  begin_session();
  return count;
}

}  // namespace plnet::cassini::soft::link

// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/wire_inproc.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kBurst = 32;

}  // namespace

InprocWire* InprocCable::find(NicAddress address) {
  const auto found =
      std::ranges::find(ends_, address, [](const InprocWire* one) { return one->address_; });
  return found == ends_.end() ? nullptr : *found;
}

InprocWire::InprocWire(InprocCable& cable, NicAddress address) : cable_(cable), address_(address) {
  cable_.ends_.push_back(this);
}

std::vector<std::byte> InprocWire::spare() {
  if (spare_.empty()) return {};
  std::vector<std::byte> bytes = std::move(spare_.back());
  spare_.pop_back();
  return bytes;
}

InprocWire::~InprocWire() {
  std::erase(cable_.ends_, this);
}

std::size_t InprocWire::packet_bytes_max() const {
  return std::min(cable_.faults.packet_bytes_max, packet_bytes_max_);
}

std::size_t InprocWire::packet_bytes_max_to(NicAddress to) const {
  const InprocWire* const end = cable_.find(to);
  return std::min(packet_bytes_max(), end == nullptr ? SIZE_MAX : end->packet_bytes_max());
}

bool InprocWire::keeps_all() const {
  return cable_.faults.keeps_all;
}

bool InprocWire::send(NicAddress to, std::span<const std::byte> header,
                      std::span<const std::byte> payload) {
  const WireFaults& faults = cable_.faults;
  Random& random = cable_.random_;
  InprocWire* const end = cable_.find(to);
  if (end != nullptr && end->coming_.size() >= faults.packets_max) {
    stats_.add(InprocCounters::Id::kFull);
    return false;
  }
  stats_.add(InprocCounters::Id::kSent);
  cable_.longest = std::max(cable_.longest, header.size() + payload.size());
  const bool fits = header.size() + payload.size() <= packet_bytes_max_to(to);
  if (end == nullptr || !up_ || !end->up_ || !fits || random.chance(faults.drop)) {
    stats_.add(InprocCounters::Id::kDropped);
    return true;
  }
  const unsigned copies = random.chance(faults.duplicate) ? 2 : 1;
  if (copies == 2) stats_.add(InprocCounters::Id::kDuplicated);
  for (unsigned i = 0; i < copies; ++i) {
    Coming coming;
    const bool late = i > 0 || random.chance(faults.reorder);
    coming.at_ns = now_ns_ + (late ? random.below(faults.delay_ns * 10 + 1) : faults.delay_ns);
    coming.order = cable_.order_++;
    coming.from = address_;
    coming.bytes = end->spare();
    coming.bytes.assign(header.begin(), header.end());
    coming.bytes.insert(coming.bytes.end(), payload.begin(), payload.end());
    end->coming_.push_back(std::move(coming));
    std::ranges::push_heap(end->coming_, std::greater<>());
  }
  return true;
}

unsigned InprocWire::poll(std::uint64_t now_ns, WireEvents& events) {
  now_ns_ = now_ns;
  if (changed_) {
    changed_ = false;
    events.on_link(up_, address_);
  }
  unsigned done = 0;
  while (done < kBurst && !coming_.empty() && coming_.front().at_ns <= now_ns) {
    std::ranges::pop_heap(coming_, std::greater<>());
    Coming coming = std::move(coming_.back());
    coming_.pop_back();
    ++done;
    stats_.add(InprocCounters::Id::kReceived);
    events.on_packet(coming.from, coming.bytes);
    spare_.push_back(std::move(coming.bytes));
  }
  return done;
}

void InprocWire::set_link(bool up) {
  up_ = up;
  changed_ = true;
}

void InprocWire::change_address(NicAddress address) {
  address_ = address;
  changed_ = true;
}

}  // namespace plnet::cassini::soft

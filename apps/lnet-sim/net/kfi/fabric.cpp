// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/kfi/fabric.hpp"

#include <algorithm>
#include <utility>

namespace plnet::sim {

using drivers::Direction;
using drivers::Fault;

// --- The end of a NIC ---

KfiWire::KfiWire(KfiFabric& fabric, const Place& place, const drivers::FaultPlan& faults)
    : fabric_(fabric),
      host_(place.host),
      bell_(place.bell),
      home_(place.home),
      address_(place.home),
      judge_(drivers::Seam::kEndpoint, place.random) {
  PLNET_CHECK(judge_.set_plan(faults).has_value(), "the reader of the site has checked the faults");
  fabric_.plug_in(*this);
}

KfiWire::~KfiWire() {
  for (const std::uint32_t packet : coming_)
    fabric_.give(packet);
  fabric_.unplug(*this);
}

std::size_t KfiWire::packet_bytes_max() const {
  return KfiFabric::kPacketBytesMax;
}

bool KfiWire::send(NicAddress to, std::span<const std::byte> header,
                   std::span<const std::byte> payload) {
  stats_.add(Id::kSent);
  fabric_.carry(*this, to, header, payload);
  return true;
}

unsigned KfiWire::poll(std::uint64_t /*now_ns*/, cassini::soft::WireEvents& events) {
  if (changed_) {
    changed_ = false;
    events.on_link(link_up_, address_);
  }
  unsigned done = 0;
  for (; done < kBurst && !coming_.empty(); ++done) {
    const std::uint32_t number = coming_.front();
    coming_.pop_front();
    stats_.add(Id::kReceived);
    const NicAddress from = fabric_.packets_[number].from;
    // The callback may move the packets, but not their bytes.
    std::vector<std::byte> bytes = std::exchange(fabric_.packets_[number].bytes, {});
    events.on_packet(from, bytes);
    fabric_.packets_[number].bytes = std::move(bytes);
    fabric_.give(number);
  }
  return done;
}

void KfiWire::calm() {
  PLNET_CHECK(judge_.set_plan({}).has_value(), "a plan without faults is valid");
}

// --- The fabric ---

void KfiFabric::plug_in(KfiWire& wire) {
  PLNET_CHECK(by_home_.emplace(wire.home_, &wire).second, "each NIC has a home of its own");
  // A NIC that was swapped with its last incarnation has returned with it.
  PLNET_CHECK(by_address_.emplace(wire.address_, &wire).second, "the address is free");
}

void KfiFabric::unplug(KfiWire& wire) {
  put_home(wire.home_);
  by_address_.erase(wire.address_);
  by_home_.erase(wire.home_);
}

KfiWire* KfiFabric::at(NicAddress address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : found->second;
}

KfiWire* KfiFabric::of_home(NicAddress home) const {
  const auto found = by_home_.find(home);
  return found == by_home_.end() ? nullptr : found->second;
}

void KfiFabric::set_address(KfiWire& wire, NicAddress address) {
  wire.address_ = address;
  wire.changed_ = true;
  by_address_[address] = &wire;
  wire.bell_.ring();
}

bool KfiFabric::move(const lnet::Nid& nid) {
  const NicAddress home = nid.address32();
  KfiWire* const wire = of_home(home);
  if (wire == nullptr || wire->address_ != home) return false;
  by_address_.erase(home);
  set_address(*wire, home | kAway);
  return true;
}

bool KfiFabric::swap(const lnet::Nid& of_one, const lnet::Nid& of_other) {
  const NicAddress a = of_one.address32();
  const NicAddress b = of_other.address32();
  KfiWire* const one = of_home(a);
  KfiWire* const other = of_home(b);
  if (a == b || one == nullptr || other == nullptr) return false;
  if (one->address_ != a || other->address_ != b) return false;
  set_address(*one, b);
  set_address(*other, a);
  return true;
}

void KfiFabric::put_home(NicAddress home) {
  KfiWire* const wire = of_home(home);
  if (wire == nullptr || wire->address_ == home) return;
  const NicAddress left = wire->address_;
  KfiWire* const partner = at(home);
  by_address_.erase(left);
  set_address(*wire, home);
  if (partner != nullptr) set_address(*partner, left);
}

void KfiFabric::set_link(NicAddress home, bool up) {
  KfiWire* const wire = of_home(home);
  if (wire == nullptr) return;
  wire->link_up_ = up;
  wire->changed_ = true;
  wire->bell_.ring();
}

std::uint32_t KfiFabric::take() {
  if (free_.empty()) {
    packets_.emplace_back();
    return static_cast<std::uint32_t>(packets_.size() - 1);
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  return number;
}

void KfiFabric::carry(KfiWire& from, NicAddress to, std::span<const std::byte> header,
                      std::span<const std::byte> payload) {
  const drivers::FaultRule* const rule = from.judge_.draw(Direction::kTx, {}, network_.now());
  const KfiWire* const end = at(to);
  const std::size_t bytes = header.size() + payload.size();
  const auto arrival = rule == nullptr && end != nullptr
                           ? network_.transit(from.host_, end->host_, bytes)
                           : std::nullopt;
  if (!arrival) return from.stats_.add(KfiWire::Id::kLost);
  Instant& last = from.last_arrival_[to];
  last = std::max(*arrival, last + Duration{1});
  const std::uint32_t number = take();
  Packet& packet = packets_[number];
  packet.from = from.address_;
  packet.to = to;
  packet.late = false;
  packet.bytes.assign(header.begin(), header.end());
  packet.bytes.insert(packet.bytes.end(), payload.begin(), payload.end());
  network_.loop().schedule(last, *this, number);
}

bool KfiFabric::suffers(KfiWire& to, std::uint32_t number, bool& lost) {
  const drivers::FaultRule* const rule = to.judge_.draw(Direction::kRx, {}, network_.now());
  if (rule == nullptr) return false;
  if (rule->fault == Fault::kDrop) {
    lost = true;
    return true;
  }
  const auto delay = Duration{static_cast<std::int64_t>(
      to.judge_.random().below(static_cast<std::uint64_t>(rule->delay.count()) + 1))};
  std::uint32_t later = number;
  if (rule->fault == Fault::kDuplicate) {
    later = take();
    Packet copy = packets_[number];
    packets_[later] = std::move(copy);
  }
  to.stats_.add(later == number ? KfiWire::Id::kReordered : KfiWire::Id::kDuplicated);
  packets_[later].late = true;
  network_.loop().schedule_in(delay, *this, later);
  return later == number;
}

void KfiFabric::on_event(std::uint64_t word) {
  const auto number = static_cast<std::uint32_t>(word);
  KfiWire* const to = at(packets_[number].to);
  bool lost = to == nullptr || !network_.present(to->host_);
  if (!lost && !packets_[number].late && suffers(*to, number, lost) && !lost) return;
  if (lost) {
    if (to != nullptr) to->stats_.add(KfiWire::Id::kLost);
    return give(number);
  }
  to->coming_.push_back(number);
  to->bell_.ring();
}

}  // namespace plnet::sim

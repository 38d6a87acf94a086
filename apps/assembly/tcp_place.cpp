// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/tcp_place.hpp"

#include <algorithm>

namespace plnet::apps {

using socklnd::Arrival;

TcpLnd::TcpLnd(const socklnd::SockLndConfig& config, lnet::LndUpcalls& core, TcpPlace& place)
    : SockLnd(config, core, place.streams()), nid_(config.nid), place_(place) {
  place_.enroll(*this);
}

TcpLnd::~TcpLnd() {
  place_.strike(*this);
}

TcpPlace::TcpPlace(const drivers::TcpConfig& config)
    : streams_max_(config.connections_max), streams_(config.connections_max) {}

Outcome<std::unique_ptr<TcpPlace>> TcpPlace::open(const drivers::TcpConfig& config) {
  std::unique_ptr<TcpPlace> place(new TcpPlace(config));
  auto device = drivers::TcpDevice::open(config, place->streams_);
  if (!device) return std::unexpected(device.error());
  place->device_ = std::move(*device);
  place->streams_.set_driver(*place->device_);
  return place;
}

TcpPlace::~TcpPlace() {
  PLNET_CHECK(lnds_.empty(), "LNDs go before the sockets that they use");
  Arrival arrival;
  while (arrivals_.pop(arrival))
    device_->discard(arrival.stream);
  if (lanes_ == nullptr) return;
  // Nobody answers any more: who had said something is gone as well, or going.
  const auto discard_what_it_brings = [this](const socklnd::LaneNote& note) {
    if (note.word == socklnd::LaneWord::kTake) device_->discard(note.lane->arrival.stream);
  };
  while (lanes_->collect(discard_what_it_brings) > 0) {
  }
}

void TcpPlace::strike(TcpLnd& lnd) {
  std::erase(lnds_, &lnd);
}

TcpLnd* TcpPlace::lnd(const lnet::Nid& nid) const {
  const auto found = std::ranges::find(lnds_, nid, &TcpLnd::nid);
  return found == lnds_.end() ? nullptr : *found;
}

void TcpPlace::bring(const Arrival& arrival) {
  const bool pushed = arrivals_.push(arrival);
  PLNET_CHECK(pushed, "who brings a connection has asked for room");
  doorbell_->ring();
}

std::uint64_t TcpPlace::open_streams() const {
  return device_->counters().value(static_cast<std::size_t>(drivers::TcpTable::Id::kOpen));
}

bool TcpPlace::quiet() const {
  return lnds_.empty() && !listening_ && open_streams() == 0 && arrivals_.empty() &&
         (lanes_ == nullptr || lanes_->empty());
}

unsigned TcpPlace::poll(Instant now) {
  if (quiet()) return 0;
  unsigned work = take_arrivals();
  if (lanes_ != nullptr) work += hear_of_lanes();
  work += device_->poll(now);
  if (acceptor_ != nullptr) work += acceptor_->flush(now);
  return work;
}

Instant TcpPlace::next_deadline() const {
  if (!arrivals_.empty() || (lanes_ != nullptr && !lanes_->empty())) return Instant::min();
  const Instant own = device_->next_deadline();
  return acceptor_ == nullptr ? own : std::min(own, acceptor_->next_deadline());
}

unsigned TcpPlace::take_arrivals() {
  unsigned taken = 0;
  Arrival arrival;
  for (; taken < kTakenPerTurn && arrivals_.pop(arrival); ++taken)
    take(arrival);
  return taken;
}

// The peer hears of a refusal by the end of its connection, and tries again later.
void TcpPlace::take(const Arrival& arrival) {
  counters_.add(Id::kArrived);
  TcpLnd* const home = lnd(arrival.local);
  if (home == nullptr) {
    counters_.add(Id::kHomeless);
    return device_->discard(arrival.stream);
  }
  if (open_streams() < streams_max_) return home->take(arrival);
  counters_.add(Id::kNoRoom);
  device_->discard(arrival.stream);
}

// The interface may not be here yet, or no longer.
unsigned TcpPlace::hear_of_lanes() {
  if (lanes_ == nullptr) return 0;
  return lanes_->collect([this](const socklnd::LaneNote& note) {
    const Arrival& arrival = note.lane->arrival;
    if (TcpLnd* const there = lnd(arrival.local)) return there->hear(note);
    if (note.word == socklnd::LaneWord::kTake) {
      counters_.add(Id::kHomeless);
      device_->discard(arrival.stream);
    }
    lanes_->answer_for_nobody(note);
  });
}

}  // namespace plnet::apps

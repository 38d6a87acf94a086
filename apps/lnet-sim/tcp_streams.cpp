// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/tcp_streams.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace plnet::sim {

using namespace lnet;
using socklnd::Arrival;
using socklnd::SocketAddress;

namespace {

constexpr std::uint16_t kAcceptPort = 988;
constexpr unsigned kBacklog = 127;

SocketAddress address_of(const Nid& nid) {
  return {drivers::mapped_ipv4(nid.address32()), kAcceptPort};
}

}  // namespace

// Known for as long as it is there.
class TcpStreams::Interface final : public socklnd::SockLnd {
 public:
  Interface(const socklnd::SockLndConfig& config, LndUpcalls& core, TcpStreams& streams, ShardId on)
      : SockLnd(config, core, streams.places_[on]->streams),
        nid(config.nid),
        shard(on),
        streams_(streams) {
    streams.interfaces_.push_back(this);
  }
  ~Interface() override { std::erase(streams_.interfaces_, this); }

  const Nid nid;
  const ShardId shard;

 private:
  TcpStreams& streams_;
};

TcpStreams::TcpStreams(const Parts& parts)
    : lanes_(std::vector<std::uint16_t>(parts.lcores.size(), 0)) {
  std::vector<Doorbell*> doorbells;
  for (const auto& lcore : parts.lcores)
    doorbells.push_back(lcore.get());
  lanes_.set_doorbells(doorbells);
  for (const auto& lcore : parts.lcores) {
    Place& place = *places_.emplace_back(std::make_unique<Place>(parts.streams_max));
    place.doorbell = lcore.get();
    if (parts.faults.count > 0) {
      const Random random = Random(parts.random).fork(std::to_string(places_.size()));
      place.faults = std::make_unique<drivers::FaultStreamDriver>(place.streams, random);
      PLNET_CHECK(place.faults->set_plan(parts.faults).has_value(), "the reader asks the seam");
    }
    socklnd::StreamEvents& events =
        place.faults ? static_cast<socklnd::StreamEvents&>(*place.faults) : place.streams;
    place.driver =
        std::make_unique<drivers::SimStreamDriver>(parts.fabric, parts.host, events, *lcore);
    place.driver->reserve(parts.streams_max);
    if (place.faults) place.faults->attach(*place.driver);
    place.streams.set_driver(place.faults ? static_cast<socklnd::StreamDriver&>(*place.faults)
                                          : *place.driver);
  }
  acceptor_ = std::make_unique<socklnd::Acceptor>(socklnd::AcceptorConfig{.strangers_max = 64},
                                                  places_[0]->streams, *this);
}

TcpStreams::~TcpStreams() = default;

std::unique_ptr<socklnd::SockLnd> TcpStreams::make(const socklnd::SockLndConfig& config,
                                                   LndUpcalls& core, ShardId shard) {
  socklnd::SockLndConfig with_lanes = config;
  with_lanes.lanes = lanes_.end(shard);
  return std::make_unique<Interface>(with_lanes, core, *this, shard);
}

void TcpStreams::listen(const Nid& nid) {
  const auto done = places_[0]->streams.driver().listen(address_of(nid), kBacklog, {});
  PLNET_CHECK(done.has_value(), "the host has the address of its NID");
  listening_.push_back(nid);
}

void TcpStreams::shut_down() {
  for (const Nid& nid : std::exchange(listening_, {}))
    places_[0]->streams.driver().stop_listening(address_of(nid));
  acceptor_->shut_down();
}

bool TcpStreams::idle() {
  for (unsigned shard = 0; shard < places_.size(); ++shard) {
    const socklnd::LaneEnd* const lanes = lanes_.end(shard);
    if (!places_[shard]->arrivals.empty() || (lanes != nullptr && !lanes->empty())) return false;
  }
  return acceptor_->idle();
}

void TcpStreams::close() {
  for (const auto& place : places_)
    place->driver.reset();
}

// Faults first: what they held back is older than what the device has.
unsigned TcpStreams::poll(ShardId shard, Instant now) {
  Place& place = *places_[shard];
  unsigned work = 0;
  Arrival arrival;
  for (; place.arrivals.pop(arrival); ++work) {
    Interface* const there = lnd(arrival.local, shard);
    there != nullptr ? there->take(arrival) : place.streams.driver().discard(arrival.stream);
  }
  work += hear_of_lanes(shard);
  if (place.faults) work += place.faults->poll(now);
  work += place.driver->poll(now);
  return shard == 0 ? work + acceptor_->flush(now) : work;
}

// The interface may not be there yet, or no longer.
unsigned TcpStreams::hear_of_lanes(ShardId shard) {
  socklnd::LaneEnd* const lanes = lanes_.end(shard);
  if (lanes == nullptr) return 0;
  return lanes->collect([&](const socklnd::LaneNote& note) {
    const Arrival& arrival = note.lane->arrival;
    if (Interface* const there = lnd(arrival.local, shard)) return there->hear(note);
    if (note.word == socklnd::LaneWord::kTake) {
      places_[shard]->streams.driver().discard(arrival.stream);
    }
    lanes->answer_for_nobody(note);
  });
}

Instant TcpStreams::next_deadline(ShardId shard) {
  const Place& place = *places_[shard];
  const socklnd::LaneEnd* const lanes = lanes_.end(shard);
  if (!place.arrivals.empty() || (lanes != nullptr && !lanes->empty())) return Instant::min();
  const Instant own = place.faults ? place.faults->next_deadline() : Instant::max();
  return shard == 0 ? std::min(own, acceptor_->next_deadline()) : own;
}

void TcpStreams::calm() {
  for (const auto& place : places_) {
    if (place->faults) PLNET_CHECK(place->faults->set_plan({}).has_value(), "nothing is allowed");
  }
}

std::uint64_t TcpStreams::faults() const {
  std::uint64_t sum = 0;
  for (const auto& place : places_)
    sum += place->faults ? place->faults->judge().applied() : 0;
  return sum;
}

// Those that were open and did not end because somebody wanted them to.
std::uint64_t TcpStreams::connections_lost() const {
  using Id = socklnd::SockLndCounters::Id;
  std::uint64_t sum = 0;
  for (const Interface* const each : interfaces_) {
    for (const Id id : {Id::kClosedByPeer, Id::kClosedInMessage, Id::kClosedReset,
                        Id::kClosedTcpTimeout, Id::kClosedError, Id::kClosedTxStuck,
                        Id::kClosedRxStuck, Id::kClosedSibling, Id::kRefusedAdopt}) {
      sum += each->count(id);
    }
  }
  return sum;
}

TcpStreams::Interface* TcpStreams::lnd(const Nid& nid, ShardId shard) const {
  const auto found = std::ranges::find_if(
      interfaces_, [&](const Interface* each) { return each->nid == nid && each->shard == shard; });
  return found == interfaces_.end() ? nullptr : *found;
}

std::optional<socklnd::LocalInterface> TcpStreams::local(const Nid& nid) const {
  const Ni* const ni = node_->coordinator().local().ni(nid);
  if (std::ranges::find(listening_, nid) == listening_.end() || ni == nullptr ||
      !ni->plugged.get()) {
    return std::nullopt;
  }
  return socklnd::LocalInterface{.incarnation = ni->incarnation};
}

bool TcpStreams::has_room(const Arrival& arrival) {
  home_.reset();
  if (!local(arrival.local)) return false;
  Coordinator& coordinator = node_->coordinator();
  const Ni& ni = *coordinator.local().ni(arrival.local);
  const auto peer =
      coordinator.directory().create_by_traffic(arrival.peer.nid, &ni, node_->shard(0).core().now);
  if (!peer) return false;
  home_ =
      lane_shard(ni.shards, (*peer)->home, (*peer)->number, static_cast<unsigned>(places_.size()));
  return places_[*home_]->arrivals.size() < kArrivalsMax;
}

void TcpStreams::hand_over(const Arrival& arrival) {
  Place& home = *places_[home_.value()];
  PLNET_CHECK(home.arrivals.push(arrival), "who brings a connection has asked for room");
  home.doorbell->ring();
}

}  // namespace plnet::sim

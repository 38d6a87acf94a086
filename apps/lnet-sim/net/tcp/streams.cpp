// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/tcp/streams.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/socklnd/arrival_home.hpp"

namespace plnet::sim {

using namespace lnet;
using socklnd::Arrival;
using socklnd::SocketAddress;

namespace {

constexpr std::uint16_t kAcceptPort = 988;
constexpr std::size_t kBacklogLeast = 127;

SocketAddress address_of(const Nid& nid) {
  return {drivers::mapped_ipv4(nid.address32()), kAcceptPort};
}

}  // namespace

TcpStreams::TcpStreams(const Parts& parts)
    : backlog_(static_cast<unsigned>(std::max(kBacklogLeast, parts.strangers_max))),
      lanes_(std::vector<std::uint16_t>(parts.lcores.size(), 0)) {
  std::vector<Doorbell*> doorbells;
  doorbells.reserve(parts.lcores.size());
  for (const auto& lcore : parts.lcores)
    doorbells.push_back(lcore.get());
  lanes_.set_doorbells(doorbells);
  for (const auto& lcore : parts.lcores) {
    Place& place = *places_.emplace_back(std::make_unique<Place>(parts.streams_max));
    place.inbox.set_doorbell(*lcore);
    place.inbox.set_lanes(lanes_.end(static_cast<unsigned>(places_.size() - 1)));
    if (parts.faults.count > 0) {
      const Random random = Random(parts.random).fork(std::to_string(places_.size()));
      place.faults = std::make_unique<drivers::FaultStreamDriver>(place.streams, random);
      PLNET_CHECK(place.faults->set_plan(parts.faults).has_value(),
                  "the reader of the site has checked the faults");
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
  acceptor_ = std::make_unique<socklnd::Acceptor>(
      socklnd::AcceptorConfig{.strangers_max = parts.strangers_max}, places_[0]->streams, *this);
}

TcpStreams::~TcpStreams() = default;

std::unique_ptr<socklnd::SockLnd> TcpStreams::make(const socklnd::SockLndConfig& config,
                                                   LndUpcalls& core, ShardId shard) {
  return std::make_unique<socklnd::EnrolledLnd>(config, core, places_[shard]->inbox);
}

void TcpStreams::listen(const Nid& nid) {
  const auto done = places_[0]->streams.driver().listen(address_of(nid), backlog_, {});
  PLNET_CHECK(done.has_value(), "the host has the address of its NID");
  listening_.push_back(nid);
}

void TcpStreams::shut_down() {
  for (const Nid& nid : std::exchange(listening_, {}))
    places_[0]->streams.driver().stop_listening(address_of(nid));
  acceptor_->shut_down();
}

bool TcpStreams::idle() {
  const auto is_empty = [](const auto& place) { return place->inbox.empty(); };
  return std::ranges::all_of(places_, is_empty) && acceptor_->idle();
}

void TcpStreams::close() {
  for (const auto& place : places_)
    place->driver.reset();
}

// Faults first: delayed events are older than those of the device.
unsigned TcpStreams::poll(ShardId shard, Instant now) {
  Place& place = *places_[shard];
  unsigned work = place.inbox.take_arrivals(kArrivalsMax, kArrivalsMax);
  work += place.inbox.collect_lane_notes();
  if (place.faults) work += place.faults->poll(now);
  work += place.driver->poll(now);
  return shard == 0 ? work + acceptor_->flush(now) : work;
}

Instant TcpStreams::next_deadline(ShardId shard) {
  const Place& place = *places_[shard];
  if (!place.inbox.empty()) return Instant::min();
  const Instant own = place.faults ? place.faults->next_deadline() : Instant::max();
  return shard == 0 ? std::min(own, acceptor_->next_deadline()) : own;
}

void TcpStreams::calm() {
  for (const auto& place : places_) {
    if (place->faults)
      PLNET_CHECK(place->faults->set_plan({}).has_value(), "a plan without faults is valid");
  }
}

std::uint64_t TcpStreams::faults() const {
  std::uint64_t sum = 0;
  for (const auto& place : places_)
    sum += place->faults ? place->faults->judge().applied() : 0;
  return sum;
}

// Connections that were open and did not end on purpose.
std::uint64_t TcpStreams::connections_lost() const {
  using Id = socklnd::SockLndCounters::Id;
  std::uint64_t sum = 0;
  for (const auto& place : places_) {
    for (const socklnd::EnrolledLnd* const each : place->inbox.lnds()) {
      for (const Id id : {Id::kClosedByPeer, Id::kClosedInMessage, Id::kClosedReset,
                          Id::kClosedTcpTimeout, Id::kClosedError, Id::kClosedTxStuck,
                          Id::kClosedRxStuck, Id::kClosedSibling, Id::kRefusedAdopt}) {
        sum += each->count(id);
      }
    }
  }
  return sum;
}

std::uint64_t TcpStreams::strange_strangers() const {
  using Id = socklnd::AcceptorCounters::Id;
  std::uint64_t sum = 0;
  for (const Id id :
       {Id::kRefusedLegacy, Id::kRefusedMagic, Id::kRefusedRequest, Id::kRefusedHelloMagic,
        Id::kRefusedHelloVersion, Id::kRefusedAddresses, Id::kRefusedSource, Id::kRefusedForeign,
        Id::kRefusedType, Id::kRefusedEager}) {
    sum += acceptor_->count(id);
  }
  return sum;
}

std::optional<socklnd::LocalInterface> TcpStreams::local(const Nid& nid) const {
  const bool listens = std::ranges::find(listening_, nid) != listening_.end();
  return listens ? socklnd::interface_of(*node_, nid) : std::nullopt;
}

socklnd::Room TcpStreams::room_for(const Arrival& arrival) {
  home_.reset();
  if (!local(arrival.local)) return socklnd::Room::kNone;
  const auto home = socklnd::home_of(*node_, arrival);
  if (!home) return socklnd::room_of(home.error());
  if (!places_[*home]->inbox.has_room()) return socklnd::Room::kLater;
  home_ = *home;
  return socklnd::Room::kFree;
}

void TcpStreams::hand_over(const Arrival& arrival) {
  PLNET_CHECK(home_.has_value(), "room_for() precedes each arrival");
  places_[*home_]->inbox.bring(arrival);
}

}  // namespace plnet::sim

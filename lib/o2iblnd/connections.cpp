// SPDX-License-Identifier: BSD-3-Clause
#include "lib/o2iblnd/connections.hpp"

#include <algorithm>
#include <array>

#include "lib/base/check.hpp"

namespace plnet::o2iblnd {

namespace {

constexpr std::uint32_t kNoOwner = ~0U;

std::uint32_t receives_each(const Tunables& tunables) {
  return receives_of(kVersion2, std::max(peer_credits(tunables), kQueueDepthV1));
}

}  // namespace

std::uint64_t Connections::receives_max(const O2ibLndConfig& config) {
  return config.connections_max * receives_each(config.tunables);
}

std::uint64_t message_memory_bytes(const O2ibLndConfig& config) {
  return (Connections::receives_max(config) + static_cast<std::uint64_t>(config.tunables.ntx) +
          config.replies_max) *
         kMessageBytes;
}

Connections::Connections(Environment& environment)
    : environment_(environment),
      receives_each_(receives_each(environment.config.tunables)),
      receives_(std::make_unique<Rx[]>(receives_max(environment.config))),
      pool_(environment.config.connections_max) {
  owners_.reserve(environment.config.connections_max);
  PLNET_CHECK(receives_max(environment.config) <= UINT32_MAX,
              "the index of a receive fits into a cookie");
  for (std::uint32_t i = 0; i < receives_max(environment.config); ++i)
    receives_[i].connection = &pool_.at(i / receives_each_);
}

Connection* Connections::take(Peer& peer, QueuePairId id, bool active, const Offer& offer) {
  Connection* const one = pool_.take();
  if (one == nullptr) return nullptr;
  begin(*one, peer, active, offer);
  one->id = id;
  if (id.index >= owners_.size()) owners_.resize(id.index + 1, kNoOwner);
  PLNET_CHECK(owners_[id.index] == kNoOwner, "a queue pair has one connection");
  owners_[id.index] = pool_.index_of(one);
  return one;
}

Connection* Connections::take(Peer& peer, Lane& lane, bool active) {
  PLNET_CHECK(environment_.config.lanes != nullptr,
              "lanes exist where several shards serve the interface");
  Connection* const one = pool_.take();
  if (one == nullptr) return nullptr;
  begin(*one, peer, active, lane.offer);
  one->id = {};
  one->lane = &lane;
  one->away = true;
  lane.at_home = pool_.index_of(one);
  return one;
}

void Connections::begin(Connection& one, Peer& peer, bool active, const Offer& offer) {
  PLNET_CHECK(one.peer == nullptr && one.posted.empty() && !one.has_queued(),
              "a free connection is idle");
  PLNET_CHECK(
      one.inbound.empty() && one.early.empty() && one.arrived.empty() && one.unposted.empty(),
      "a free connection holds no messages");
  one.state = active ? Connection::State::kConnecting : Connection::State::kAccepting;
  one.active = active;
  one.established = one.disconnected = one.away = false;
  one.cause = Errc::kClosed;
  one.retry = {};
  one.peer = &peer;
  one.lane = nullptr;
  one.offer = offer;
  one.incarnation = 0;
  one.credits = {};
  one.begun = one.last_send = environment_.now;
  one.held = 0;
  one.parked = nullptr;
  ++peer.users;
}

void Connections::give(Connection& connection) {
  PLNET_CHECK(connection.posted.empty() && !connection.has_queued() && connection.inbound.empty(),
              "what is on a connection ends before it");
  PLNET_CHECK(
      connection.parked == nullptr && connection.peer != nullptr && connection.peer->users > 0,
      "a connection counts as a user of its peer until its end");
  const auto leave = [](IntrusiveList<Rx>& list) {
    while (Rx* const rx = list.pop_front())
      rx->length = 0;
  };
  leave(connection.early);
  leave(connection.arrived);
  leave(connection.unposted);
  if (connection.ListNode<ForService>::linked()) connection.ListNode<ForService>::unlink();
  if (connection.ListNode<ForRoom>::linked()) connection.ListNode<ForRoom>::unlink();
  if (connection.ListNode<OfPeer>::linked()) connection.ListNode<OfPeer>::unlink();
  PLNET_CHECK(connection.away || owners_[connection.id.index] == pool_.index_of(&connection),
              "a queue pair has one connection");
  if (!connection.away) owners_[connection.id.index] = kNoOwner;
  --connection.peer->users;
  connection.peer = nullptr;
  connection.state = Connection::State::kFree;
  pool_.give(&connection);
}

Connection* Connections::find(QueuePairId id) {
  if (id.index >= owners_.size() || owners_[id.index] == kNoOwner) return nullptr;
  Connection& connection = pool_.at(owners_[id.index]);
  return connection.id == id ? &connection : nullptr;
}

Fragment Connections::buffer(std::uint32_t index) const {
  PLNET_DEBUG_CHECK(index < receives_each_ * pool_.capacity(), "each connection has its receives");
  const BufferAddress& memory = environment_.config.message_memory;
  return {{memory.arena, memory.offset + std::uint64_t{index} * kMessageBytes}, kMessageBytes};
}

Rx* Connections::receive_at(std::uint32_t index) {
  return index < std::uint64_t{receives_each_} * pool_.capacity() ? &receives_[index] : nullptr;
}

std::span<const std::byte> Connections::bytes_of(const Rx& rx) const {
  PLNET_CHECK(rx.length <= kMessageBytes, "a message fits into its buffer");
  const auto index = static_cast<std::uint32_t>(&rx - receives_.get());
  return environment_.config.arenas->bytes(buffer(index)).first(rx.length);
}

bool Connections::post_all(Connection& connection) {
  const unsigned count = receives_of(connection.offer.version, connection.offer.queue_depth);
  PLNET_CHECK(count <= receives_each_, "no connection is deeper than configured");
  PLNET_CHECK(connection.unposted.empty(),
              "all receives are posted once; later each one returns by itself");
  for (unsigned i = 0; i < count; ++i) {
    Rx& rx = receives_[pool_.index_of(&connection) * receives_each_ + i];
    PLNET_CHECK(!rx.linked(), "a free buffer is in no list");
    rx.use = ReceiveUse::kNone;
    connection.unposted.push_back(rx);
  }
  repost(connection);
  return connection.unposted.empty();
}

void Connections::release(Rx& rx, ReceiveUse use) {
  PLNET_CHECK(!rx.linked() && !rx.posted, "a receive is released once");
  PLNET_DEBUG_CHECK(rx.connection->peer != nullptr,
                    "receives return before the end of their connection");
  rx.use = use;
  rx.connection->unposted.push_back(rx);
  serve_soon(*rx.connection);
}

void Connections::repost(Connection& connection) {
  if (connection.state == Connection::State::kClosing) return;
  while (!connection.unposted.empty()) {
    std::array<ReceiveRequest, kPostedAtOnce> burst;
    std::array<Rx*, kPostedAtOnce> which{};
    std::size_t count = 0;
    while (count < burst.size()) {
      Rx* const rx = connection.unposted.pop_front();
      if (rx == nullptr) break;
      PLNET_DEBUG_CHECK(!rx->posted, "a posted receive is with the device");
      const auto index = static_cast<std::uint32_t>(rx - receives_.get());
      burst[count] = {buffer(index), cookie_of(CookieKind::kReceive, index)};
      which[count++] = rx;
    }
    const std::size_t taken =
        environment_.driver.post_receives(connection.id, {burst.data(), count});
    PLNET_CHECK(taken <= count, "a driver takes no more receives than it is given");
    for (std::size_t i = 0; i < taken; ++i) {
      which[i]->posted = true;
      connection.credits.receive_posted(which[i]->use);
    }
    for (std::size_t i = count; i > taken; --i)
      connection.unposted.push_front(*which[i - 1]);
    if (taken < count) return serve_soon(connection);
  }
}

void Connections::close(Connection& connection, Errc cause) {
  if (connection.state == Connection::State::kClosing) return;
  PLNET_CHECK(connection.peer != nullptr, "a connection in use is closed");
  connection.state = Connection::State::kClosing;
  connection.cause = cause;
  if (connection.ListNode<OfPeer>::linked()) connection.ListNode<OfPeer>::unlink();
  if (connection.ListNode<ForService>::linked()) connection.ListNode<ForService>::unlink();
  if (connection.ListNode<ForRoom>::linked()) connection.ListNode<ForRoom>::unlink();
  closed_.push_back(connection);
  if (connection.away) {  // the other shard counts it
    if (!connection.disconnected)
      environment_.config.lanes->say(*connection.lane, LaneWord::kClose, cause);
    return;
  }
  environment_.count(O2ibCounters::Id::kClosed);
  if (connection.established && cause != Errc::kShutdown)
    environment_.count(O2ibCounters::Id::kLost);
  if (!connection.disconnected) environment_.driver.to_error(connection.id);
}

void Connections::serve_those_for_room() {
  IntrusiveList<Connection, ForRoom> waiting;
  for_room_.take(environment_.freed, waiting);
  while (Connection* const connection = waiting.pop_front())
    serve_soon(*connection);
}

}  // namespace plnet::o2iblnd

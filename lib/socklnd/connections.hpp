// SPDX-License-Identifier: BSD-3-Clause
// The connections of one LND: a bounded number, how each begins, opens and ends for its peer, and
// the list of those that the next flush serves. lustre-release lnet/klnds/socklnd/socklnd.c:
// ksocknal_create_conn(), ksocknal_close_conn_locked().
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/socklnd/connection.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/peer_homes.hpp"
#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

// The end of a connection lies with the peer or the network, and says nothing of our interface: a
// peer that closes its connections, breaks the protocol or restarts, or a network that loses
// packets. If nothing arrives at the interface any more, the judgement of NetworkTimeout notices.
[[nodiscard]] bool is_of_peer(Errc cause);

class Connections {
 public:
  using Id = SockLndCounters::Id;

  Connections(Environment& environment, Peers& peers);

  // `user` receives the events of the streams; `keeper` reads a payload that lies in the socket of
  // a connection before it closes. Called once, before the first connection.
  void set_receivers(StreamUser& user, lnet::PayloadKeeper& keeper) {
    PLNET_CHECK(user_ == nullptr && keeper_ == nullptr, "the connections get their receivers once");
    user_ = &user;
    keeper_ = &keeper;
  }

  // --- Begin ---
  // nullptr, and the stream is closed: no room.
  [[nodiscard]] Connection* make(Peer& peer, StreamId stream, ConnectionType type);
  // Puts an accepted stream on this shard. nullptr, and the stream has ended: the driver cannot
  // take it, or no room.
  [[nodiscard]] Connection* adopt(Peer& peer, const Arrival& arrival);
  // At the home of the peer: represents a connection on another shard, and has no stream. There
  // must be a free place.
  [[nodiscard]] Connection& make_stand_in(Peer& peer, ConnectionType type, Lane& lane);
  // The greeting of the connection ends with our HELLO, in which the connection has this type.
  void add_hello(Connection& connection, std::int32_t type);
  void open(Connection& connection, bool swapped);

  // --- End ---
  // Closes the connection, which ends in on_closed() of its stream. `siblings`: the other
  // connections of the peer are closed too.
  void close(Connection& connection, Id why, Errc cause, bool siblings = true);
  // Closes its stream and nothing else: the caller has done the rest.
  void close_stream(Connection& connection, Errc cause);
  // The connection was open and is no more: tells its peer.
  void leave_open(Connection& connection, Errc cause);
  // Counts the end of a stream, and the bytes that were lost with it.
  void count_end(const Connection& connection, Errc cause, std::uint64_t unacknowledged);
  // The place of the connection is free: its stream, its messages and its payload have ended.
  void release(Connection& connection);

  // --- The next flush ---
  void serve_soon(Connection& connection) {
    if (connection.fresh) return;
    connection.fresh = true;
    fresh_.push_back(connection);
  }
  // nullptr: none is left.
  [[nodiscard]] Connection* next_to_serve() {
    Connection* const connection = fresh_.pop_front();
    if (connection != nullptr) connection->fresh = false;
    return connection;
  }
  [[nodiscard]] bool has_to_serve() const { return !fresh_.empty(); }

  // --- By slot ---
  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(pool_.capacity()); }
  [[nodiscard]] std::size_t free_count() const { return pool_.free_count(); }
  [[nodiscard]] bool none() const { return pool_.free_count() == pool_.capacity(); }
  // A connection that is in use: the stream of an event, a lane.
  [[nodiscard]] Connection& of_slot(std::uint32_t slot) {
    PLNET_DEBUG_CHECK(pool_.is_lent(slot), "events name connections in use");
    return pool_.at(slot);
  }
  // nullptr: the slot is empty.
  [[nodiscard]] Connection* find(std::uint32_t slot) {
    return pool_.is_lent(slot) ? &pool_.at(slot) : nullptr;
  }
  [[nodiscard]] const Connection* find(std::uint32_t slot) const {
    return pool_.is_lent(slot) ? &pool_.at(slot) : nullptr;
  }
  // nullptr: the message that it names has ended.
  [[nodiscard]] Connection* find(lnet::RxHandle rx) {
    Connection* const connection = find(rx.index);
    return connection != nullptr && connection->generation == rx.generation ? connection : nullptr;
  }
  [[nodiscard]] lnet::RxHandle handle_of(const Connection& connection) const {
    PLNET_DEBUG_CHECK(pool_.is_lent(pool_.index_of(&connection)),
                      "a handle is that of a connection in use");
    return {pool_.index_of(&connection), connection.generation};
  }

 private:
  using State = Connection::State;

  void begin(Connection& connection, Peer& peer, ConnectionType type);
  void count_lost(const Connection& connection, std::uint64_t unacknowledged);

  Environment& environment_;
  Peers& peers_;
  StreamUser* user_ = nullptr;
  lnet::PayloadKeeper* keeper_ = nullptr;
  Pool<Connection> pool_;  // before the list that refers to its connections
  IntrusiveList<Connection, ForFlush> fresh_;
};

}  // namespace plnet::socklnd

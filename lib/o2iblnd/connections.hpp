// SPDX-License-Identifier: BSD-3-Clause
// The connections of one LND and their receive buffers: made, found, served, closed, given back.
#pragma once

#include <memory>
#include <vector>

#include "lib/base/pool.hpp"
#include "lib/o2iblnd/connection.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "lib/o2iblnd/peer.hpp"
#include "lib/o2iblnd/waiting_list.hpp"

namespace plnet::o2iblnd {

// The name of a work request; its completion carries it.
enum class CookieKind : std::uint8_t { kReceive, kSend, kWrite };
[[nodiscard]] constexpr std::uint64_t cookie_of(CookieKind kind, std::uint32_t index) {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} << 32U | index;
}
[[nodiscard]] constexpr CookieKind kind_of(std::uint64_t cookie) {
  return static_cast<CookieKind>(cookie >> 32U);
}
[[nodiscard]] constexpr std::uint32_t index_of(std::uint64_t cookie) {
  return static_cast<std::uint32_t>(cookie);
}

class Connections {
 public:
  explicit Connections(Environment& environment);

  [[nodiscard]] static std::uint64_t receives_max(const O2ibLndConfig& config);

  // nullptr: there are as many as may be.
  [[nodiscard]] Connection* take(Peer& peer, QueuePairId id, bool active, const Offer& offer);
  // At the home of a peer: the stand-in for a connection on another shard.
  [[nodiscard]] Connection* take(Peer& peer, Lane& lane, bool active);
  // It has drained: nothing is left on it.
  void give(Connection& connection);
  [[nodiscard]] bool has_room() const { return pool_.free_count() > 0; }
  [[nodiscard]] Connection* find(QueuePairId id);
  // Posts all receives; before the peer can send.
  [[nodiscard]] bool post_all(Connection& connection);
  // Those that are done with are posted again, and count as credits only then.
  void repost(Connection& connection);
  void release(Rx& rx, ReceiveUse use);
  [[nodiscard]] Rx* receive_at(std::uint32_t index);
  [[nodiscard]] std::span<const std::byte> bytes_of(const Rx& rx) const;

  // The next flush looks at it.
  void serve_soon(Connection& connection) {
    const bool closing = connection.state == Connection::State::kClosing;
    if (closing || connection.away) return;
    if (!connection.ListNode<ForService>::linked()) to_serve_.push_back(connection);
  }
  // Those of now: what is added meanwhile waits for the next flush.
  void take_to_serve(IntrusiveList<Connection, ForService>& out) {
    if (for_room_.has_come(environment_.freed)) serve_those_for_room();
    out.splice_back(to_serve_);
  }
  [[nodiscard]] bool has_to_serve() const {
    return !to_serve_.empty() || for_room_.has_come(environment_.freed);
  }
  // The flush after something has been given back looks at it.
  void serve_when_freed(Connection& connection) {
    const bool closing = connection.state == Connection::State::kClosing;
    if (!closing && !connection.ListNode<ForRoom>::linked())
      for_room_.push_back(connection, environment_.freed);
  }

  // Visits the connections of this peer that are not closing. Cold.
  template <class Visit>
  void for_each_of(const Peer& peer, Visit&& visit) {
    for (std::uint32_t slot = 0; slot < slots(); ++slot) {
      Connection* const one = at(slot);
      const bool here = one != nullptr && one->peer == &peer;
      if (here && one->state != Connection::State::kClosing) visit(*one);
    }
  }
  [[nodiscard]] std::uint32_t slot_of(const Connection& connection) const {
    return pool_.index_of(&connection);
  }

  // Disconnects it; its messages end in the same flush or poll, by next_closed(). The first cause
  // stays.
  void close(Connection& connection, Errc cause);
  [[nodiscard]] Connection* next_closed() { return closed_.pop_front(); }
  [[nodiscard]] bool has_closed() const { return !closed_.empty(); }

  [[nodiscard]] std::size_t used() const { return pool_.capacity() - pool_.free_count(); }
  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(pool_.capacity()); }
  [[nodiscard]] Connection* at(std::uint32_t slot) {
    return pool_.is_lent(slot) ? &pool_.at(slot) : nullptr;
  }
  [[nodiscard]] const Connection* at(std::uint32_t slot) const {
    return pool_.is_lent(slot) ? &pool_.at(slot) : nullptr;
  }

 private:
  static constexpr std::size_t kPostedAtOnce = 32;

  void begin(Connection& one, Peer& peer, bool active, const Offer& offer);
  [[nodiscard]] Fragment buffer(std::uint32_t index) const;
  void serve_those_for_room();

  Environment& environment_;
  const std::uint32_t receives_each_;
  std::unique_ptr<Rx[]> receives_;  // before those that list them: lists go first
  Pool<Connection> pool_;
  std::vector<std::uint32_t> owners_;  // slot by index of the queue pair
  IntrusiveList<Connection, ForService> to_serve_;
  WaitingList<Connection, ForRoom> for_room_;
  IntrusiveList<Connection, ForService> closed_;
};

}  // namespace plnet::o2iblnd

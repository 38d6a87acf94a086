// SPDX-License-Identifier: BSD-3-Clause
// Progress of connections: acknowledgements by the peer's TCP, silence, incoming payloads. A
// connection that stalls for longer than it may is closed. lustre-release
// lnet/klnds/socklnd/socklnd_cb.c: ksocknal_find_timed_out_conn().
#pragma once

#include <cstdint>

#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/dialler.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/noops.hpp"
#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

class ProgressWatch {
 public:
  ProgressWatch(Environment& environment, Connections& connections, Dialler& dialler, Noops& noops)
      : environment_(environment), connections_(connections), dialler_(dialler), noops_(noops) {}

  // Checks the connections of a peer whose timer has expired.
  void check(Peer& peer, Instant now);
  // The time of the next check that the peer's connections need; Instant::max(): none.
  [[nodiscard]] Instant next_check(Peer& peer, Instant now) const;
  // Lnd::unsent_bytes().
  [[nodiscard]] std::uint64_t unsent_bytes(Instant since);

 private:
  using Id = SockLndCounters::Id;
  using State = Connection::State;

  // The sockets that one call of unsent_bytes() asks; each takes some microseconds.
  static constexpr unsigned kAskedAtOnce = 256;
  // Any network loses fewer segments in a row now and then.
  static constexpr std::uint32_t kUnansweredLeast = 2;
  // The interval of checks while bytes are under way that may be lost.
  static constexpr Duration kLookForSilence = std::chrono::seconds(1);
  // An attempt without an answer for so long is reported, though it goes on.
  static constexpr Duration kDialPatience = std::chrono::seconds(10);
  // The rate of a payload is measured over this time: longer than a network loses packets for.
  static constexpr Duration kPaceSpan = std::chrono::seconds(10);

  void check(Connection& connection, Instant now);
  void check_introduction(Connection& connection, Instant now);
  void check_transfer(Connection& connection, Instant now);
  [[nodiscard]] bool is_slow(Connection& connection, Instant now) const;
  [[nodiscard]] Duration silence_max_of(const Peer& peer) const;
  // True: the peer's TCP has acknowledged more than before.
  [[nodiscard]] bool ask_acknowledged(Connection& connection);
  [[nodiscard]] static bool note_acknowledged(Connection& connection, std::uint64_t unacknowledged);

  Environment& environment_;
  Connections& connections_;
  Dialler& dialler_;
  Noops& noops_;
  Instant unsent_since_ = Instant::min();  // the moment that unsent_bytes() is asked about
};

}  // namespace plnet::socklnd

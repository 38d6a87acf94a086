// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way in: the bytes of open connections become headers for the core, and payload
// for the targets that it names. lustre-release lnet/klnds/socklnd/socklnd_cb.c:
// ksocknal_process_receive().
#pragma once

#include <cstddef>
#include <span>

#include "lib/base/intrusive_list.hpp"
#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/noops.hpp"
#include "lib/socklnd/peers.hpp"

namespace plnet::socklnd {

class Receives {
 public:
  Receives(Environment& environment, Connections& connections, Peers& peers, Noops& noops)
      : environment_(environment), connections_(connections), peers_(peers), noops_(noops) {}

  // StreamUser::destination() and on_bytes() of an open connection.
  [[nodiscard]] std::span<std::byte> destination(const Connection& connection) const {
    return connection.framing.destination(*environment_.config.arenas);
  }
  [[nodiscard]] std::size_t on_bytes(Connection& connection, std::size_t direct,
                                     std::span<const std::byte> staged) {
    connection.framing.took(direct, *environment_.config.arenas);
    return read(connection, staged);
  }
  // Reads messages and returns the number of bytes used: all, unless reading is paused.
  std::size_t read(Connection& connection, std::span<const std::byte> staged);

  // Lnd::resume(), and the act that the next flush makes of it.
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision);
  void run_decided(Connection& connection);
  // The connection is lost: its incoming message ends.
  void end(Connection& connection, Errc cause);

 private:
  using Id = SockLndCounters::Id;
  using State = Connection::State;
  using Rx = Connection::Rx;

  void on_header(Connection& connection);
  void on_acknowledgement(Connection& connection);
  void on_payload(Connection& connection);
  void on_failure(Connection& connection);
  void run_decision(Connection& connection);
  void set_over();

  Environment& environment_;
  Connections& connections_;
  Peers& peers_;
  Noops& noops_;
};

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
// Large payloads that are forwarded from socket to socket. Once the rest of such a payload is in
// the receive buffer of its socket, it counts as received, so forwarding stays store and forward.
// The payload stays there until the connection to the next hop takes it past our memory, or until
// it is read into its router buffer: if that connection is busy, or takes only a part. Nothing
// stays longer than the turn after the one in which it arrived, so a slow next hop delays no
// sender.
#pragma once

#include <cstddef>

#include "lib/base/intrusive_list.hpp"
#include "lib/socklnd/connections.hpp"
#include "lib/socklnd/environment.hpp"
#include "lib/socklnd/noops.hpp"

namespace plnet::socklnd {

class KeptPayloads final : public lnet::PayloadKeeper {
 public:
  KeptPayloads(Environment& environment, Connections& connections, Noops& noops);

  // --- The receiving connection ---
  // Asks the driver to wait for the rest of a payload, if it may stay in its socket.
  void wait_for_rest(Connection& connection);
  // The rest is in the socket.
  void on_awaited(Connection& connection);
  // Reads the payloads that have stayed since the turn before.
  void bring_old();
  [[nodiscard]] bool has_old() const { return !before_.empty(); }

  [[nodiscard]] Result<void> bring(lnet::RxHandle rx) override;
  // A stream can give its bytes to the streams of its own driver.
  [[nodiscard]] const void* family() const override { return &environment_.streams; }

  // --- For an LND of this family that sends the payload ---
  // nullptr: the payload is in its target.
  [[nodiscard]] Connection* find(lnet::RxHandle rx);
  // So many bytes have left for another socket.
  static void on_relayed(Connection& connection, std::size_t bytes);
  // All bytes have left the socket.
  void finish(Connection& connection);

 private:
  // The payload does not come: its connection closes.
  void lose(Connection& connection, Errc cause);

  Environment& environment_;
  Connections& connections_;
  Noops& noops_;
  IntrusiveList<Connection, Keeping> new_;     // those of this turn
  IntrusiveList<Connection, Keeping> before_;  // those of the turn before
};

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
// Payload that goes from one socket to another without our memory: the system moves its pages
// (splice). Nothing leaves before the rest of the payload has arrived, so awaited bytes lie in the
// receive buffer of their socket, which is made large enough.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "drivers/net/tcp/connection.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "drivers/net/tcp/stats.hpp"
#include "drivers/net/tcp/tx.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"

namespace plnet::drivers {

class TcpRelay {
 public:
  // Enough for a megabyte from a sender on a link of some Gb/s. With a slower one nothing is saved
  // by waiting, and the LND should see some progress.
  static constexpr Duration kPatience = std::chrono::milliseconds(2);
  // The receive buffer has room for a payload and for the system's own records, which are large.
  static constexpr std::size_t kRoomBytes = std::size_t{3} << 20U;
  // Bytes moved in one call: few enough that their records are still in the cache when they leave.
  // Measured: a third cheaper than 256 KiB.
  static constexpr std::size_t kBytesPerCall = std::size_t{128} << 10U;

  // The relay is not wanted, or not available: then await() is always false.
  TcpRelay(bool wanted, TcpTx& tx, TcpStats& stats);
  // The reason for which the relay is not available though it is wanted; "": it is.
  [[nodiscard]] std::string_view refusal() const { return refusal_; }

  [[nodiscard]] bool await(TcpConnection& connection, std::size_t bytes, Instant now);
  // kAll: the awaited bytes are there. Else the connection goes on waiting, kNotYet, unless the
  // system wants to be read, kNoMore.
  enum class Found : std::uint8_t { kAll, kNotYet, kNoMore };
  [[nodiscard]] Found look(TcpConnection& connection);
  void end_wait(TcpConnection& connection);
  // Called after a read. For payloads of one size in a row the system is told once how many bytes
  // are awaited: it stays silent about fewer until there is nothing to read.
  void note_read(TcpConnection& connection) {
    const bool idle = connection.awaited == 0 && !connection.readable;
    if (idle && connection.low_water != 1) listen_for_anything(connection);
  }
  // The system reports any number of bytes again.
  void listen_for_anything(TcpConnection& connection);
  // The connection ends: its remaining bytes are not fetched.
  void forget(TcpConnection& connection);
  // A connection that has waited for too long; null: none.
  [[nodiscard]] TcpConnection* overdue(Instant now);
  [[nodiscard]] Instant next_deadline() const { return first_until_; }

  std::size_t relay(TcpConnection& from, TcpConnection& to,
                    std::span<const std::span<const std::byte>> head, std::size_t bytes);
  // An error: the system does not give the bytes that it has counted.
  [[nodiscard]] Result<void> fetch(TcpConnection& connection, std::span<std::byte> target);
  // Bytes of the connection have to be fetched before others are read.
  [[nodiscard]] bool has_of(const TcpConnection& connection) const {
    return held_ > 0 && held_of_ == &connection;
  }

 private:
  void note_first();
  [[nodiscard]] bool set_low_water(TcpConnection& connection, std::size_t bytes);
  [[nodiscard]] std::size_t hand_on(TcpConnection& from, TcpConnection& to, std::size_t bytes);
  [[nodiscard]] std::size_t take_out(std::span<std::byte> target);

  [[nodiscard]] bool possible() const { return pipe_in_.valid(); }
  // The pipe, or the reason for which there is none.
  [[nodiscard]] std::string_view make_pipe();

  TcpTx& tx_;
  TcpStats& stats_;
  IntrusiveList<TcpConnection, Awaiting> waiting_;
  Instant first_until_ = Instant::max();  // the earliest time among those that wait
  TcpSocket pipe_out_;
  TcpSocket pipe_in_;
  std::string_view refusal_;
  std::size_t held_ =
      0;  // bytes in the pipe: taken from their socket, and not given to the other one
  const TcpConnection* held_of_ = nullptr;
};

}  // namespace plnet::drivers

// SPDX-License-Identifier: BSD-3-Clause
// Payload that goes from one socket to another without coming by our memory: the system hands its
// pages on (splice). Nothing begins to leave before the rest of it has arrived, so what is waited
// for here lies in the receive buffer of its socket, which is told to be large enough.
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
  // What a sender on a link of some Gb/s needs for a megabyte. With a slower one there is nothing
  // to be saved by waiting, and whoever watches its progress shall see some.
  static constexpr Duration kPatience = std::chrono::milliseconds(2);
  // For the receive buffer: a payload and what the system adds for its own records, with which it
  // is generous.
  static constexpr std::size_t kRoomBytes = std::size_t{3} << 20U;
  // In one call: little enough that what was just taken is handed on while the records of it are in
  // the cache. By measurement a third cheaper than 256 KiB.
  static constexpr std::size_t kBytesPerCall = std::size_t{128} << 10U;

  // Not wanted, or not to be had: then await() is never true.
  TcpRelay(bool wanted, TcpTx& tx, TcpStats& stats);
  // Why it is not to be had though it is wanted; "": it is.
  [[nodiscard]] std::string_view refusal() const { return refusal_; }

  [[nodiscard]] bool await(TcpConnection& connection, std::size_t bytes, Instant now);
  // As many are there. Else, unless the system has said that it has something to read although they
  // are not, the connection stays one that waits.
  enum class Found : std::uint8_t { kAll, kNotYet, kNoMore };
  [[nodiscard]] Found look(TcpConnection& connection);
  void end_wait(TcpConnection& connection);
  // After a read. Payloads of one size that come one after the other cost one word to the system
  // about how much is awaited: it stays silent about less until there is nothing to read.
  void note_read(TcpConnection& connection) {
    const bool idle = connection.awaited == 0 && !connection.readable;
    if (idle && connection.low_water != 1) listen_for_anything(connection);
  }
  // It shall say whatever comes.
  void listen_for_anything(TcpConnection& connection);
  // It ends: nobody fetches what is left of it.
  void forget(TcpConnection& connection);
  // One that has waited for too long; null: none.
  [[nodiscard]] TcpConnection* overdue(Instant now);
  [[nodiscard]] Instant next_deadline() const { return first_until_; }

  std::size_t relay(TcpConnection& from, TcpConnection& to,
                    std::span<const std::span<const std::byte>> head, std::size_t bytes);
  void fetch(TcpConnection& connection, std::span<std::byte> target);
  // Bytes of it are to be fetched before others of it are read.
  [[nodiscard]] bool has_of(const TcpConnection& connection) const {
    return held_ > 0 && held_of_ == &connection;
  }

 private:
  void note_first();
  [[nodiscard]] bool set_low_water(TcpConnection& connection, std::size_t bytes);
  [[nodiscard]] std::size_t hand_on(TcpConnection& from, TcpConnection& to, std::size_t bytes);
  [[nodiscard]] std::size_t take_out(std::span<std::byte> target);

  [[nodiscard]] bool possible() const { return pipe_in_.valid(); }
  // The pipe, or why there is none.
  [[nodiscard]] std::string_view make_pipe();

  TcpTx& tx_;
  TcpStats& stats_;
  IntrusiveList<TcpConnection, Awaiting> waiting_;
  Instant first_until_ = Instant::max();  // of these
  TcpSocket pipe_out_;
  TcpSocket pipe_in_;
  std::string_view refusal_;
  std::size_t held_ = 0;  // in the pipe: taken from its socket, and not given to the other
  const TcpConnection* held_of_ = nullptr;
};

}  // namespace plnet::drivers

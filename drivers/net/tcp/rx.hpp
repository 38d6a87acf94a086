// SPDX-License-Identifier: BSD-3-Clause
// Bytes on their way in: each read fills the rest of a payload and the staging buffer, so that the
// next headers need no system call of their own.
#pragma once

#include <cstddef>
#include <span>

#include "drivers/net/tcp/connection.hpp"
#include "drivers/net/tcp/memory.hpp"
#include "drivers/net/tcp/stats.hpp"
#include "lib/base/clock.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::drivers {

class TcpRx {
 public:
  // The interval at which TCP is told to delay acknowledgements of a connection that we read from.
  // Long enough that its own decision after a loss, to acknowledge at once, has an effect.
  static constexpr Duration kAcksSharedEvery = std::chrono::milliseconds(100);
  // The share of one connection in a poll, so that a continuous sender does not delay the others:
  // about a tenth of a millisecond of copying.
  static constexpr std::size_t kBytesPerTurn = std::size_t{512} * 1024;
  static constexpr unsigned kReadsPerTurn = 16;
  // A payload is large if so much of it is outstanding; then so little is staged behind it.
  static constexpr std::size_t kBulkBytes = std::size_t{64} * 1024;
  static constexpr std::size_t kStagedOfBulk = std::size_t{16} * 1024;
  static_assert(kStagedOfBulk < kBulkBytes && kBulkBytes <= kBytesPerTurn);

  TcpRx(socklnd::StreamEvents& events, TcpConnections& connections, TcpMemory& memory,
        TcpStats& stats)
      : events_(events), connections_(connections), memory_(memory), stats_(stats) {}

  // Passes kept bytes to the handler, then reads until the socket is empty, the handler pauses, or
  // the turn is over. Handlers may end the stream: look it up again afterwards.
  void serve(TcpConnection& connection, Instant now);
  // Drops the bytes that the connection keeps.
  void forget_remainder(TcpConnection& connection);

 private:
  // True: the connection may be read further in this turn.
  [[nodiscard]] bool read_once(TcpConnection& connection, std::size_t& bytes);
  void present_remainder(TcpConnection& connection);
  // The bytes that may be staged beyond a destination of this size.
  [[nodiscard]] std::span<std::byte> staging_of(TcpConnection& connection,
                                                std::size_t destination_bytes);
  void share_acks(TcpConnection& connection, Instant now);
  void note_end(TcpConnection& connection, long result);
  [[nodiscard]] std::size_t deliver(TcpConnection& connection, std::size_t direct,
                                    std::span<const std::byte> staged, bool& alive);

  socklnd::StreamEvents& events_;
  TcpConnections& connections_;
  TcpMemory& memory_;
  TcpStats& stats_;
};

}  // namespace plnet::drivers

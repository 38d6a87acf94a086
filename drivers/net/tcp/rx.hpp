// SPDX-License-Identifier: BSD-3-Clause
// Bytes on their way in: reads into the rest of a payload and the staging buffer at once, so that
// the headers that follow ride along with one system call.
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
  // How often a connection that we read from is told to let acknowledgements wait for one another.
  // Seldom enough that what TCP thinks after a loss, when it acknowledges at once, has its time.
  static constexpr Duration kAcksSharedEvery = std::chrono::milliseconds(100);
  // One connection's part of a poll, so that a sender that never stops does not keep the others
  // waiting: about a tenth of a millisecond of copying.
  static constexpr std::size_t kBytesPerTurn = std::size_t{512} * 1024;
  static constexpr unsigned kReadsPerTurn = 16;
  // A payload of which so much is outstanding is large, and so little is staged behind it.
  static constexpr std::size_t kBulkBytes = std::size_t{64} * 1024;
  static constexpr std::size_t kStagedOfBulk = std::size_t{16} * 1024;

  TcpRx(socklnd::StreamEvents& events, TcpConnections& connections, TcpMemory& memory,
        TcpStats& stats)
      : events_(events), connections_(connections), memory_(memory), stats_(stats) {}

  // Presents what was kept, then reads until the socket is empty, the handler pauses, or the turn
  // is over. Handlers may end the stream: look it up again after this.
  void serve(TcpConnection& connection, Instant now);
  // What the connection keeps is lost.
  void forget_remainder(TcpConnection& connection);

 private:
  // True if the connection may be read further in this turn.
  [[nodiscard]] bool read_once(TcpConnection& connection, std::size_t& bytes);
  void present_remainder(TcpConnection& connection);
  // What may be staged beyond so large a destination.
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

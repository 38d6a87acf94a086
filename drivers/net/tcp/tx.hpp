// SPDX-License-Identifier: BSD-3-Clause
// Bytes on their way out: all pieces that wait go with one system call, large payloads with
// several.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <sys/uio.h>

#include "drivers/net/tcp/connection.hpp"
#include "drivers/net/tcp/stats.hpp"

namespace plnet::drivers {

class TcpTx {
 public:
  explicit TcpTx(TcpStats& stats) : stats_(stats) {}

  // Returns the bytes taken. Notes in the connection whether it is blocked or broken.
  // `more`: the bytes need no segment of their own, since others follow.
  [[nodiscard]] std::size_t write(TcpConnection& connection,
                                  std::span<const std::span<const std::byte>> pieces,
                                  bool more = false);

 private:
  static constexpr std::size_t kPiecesPerCall = 1024;  // the system's limit, UIO_MAXIOV
  // The part of a large payload in one call: copied bytes leave while they are in the cache, and
  // the receiver begins sooner. With so many bytes the price of a call is negligible.
  static constexpr std::size_t kBurstsPerCall = 2;
  // Segments grow with the peer's window, and with the path.
  static constexpr std::uint32_t kCallsBetweenLooks = 64;

  struct Place {
    std::size_t piece = 0;
    std::size_t offset = 0;
  };

  [[nodiscard]] std::size_t gather(std::span<const std::span<const std::byte>> pieces, Place& at,
                                   std::size_t most, std::size_t& offered);

  [[nodiscard]] std::size_t send(TcpConnection& connection, std::size_t count, bool more);

  TcpStats& stats_;
  std::array<iovec, kPiecesPerCall> gather_{};
};

}  // namespace plnet::drivers

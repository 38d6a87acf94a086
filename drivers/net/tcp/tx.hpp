// SPDX-License-Identifier: BSD-3-Clause
// Bytes on their way out: all pieces that wait go with one system call.
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
  [[nodiscard]] std::size_t write(TcpConnection& connection,
                                  std::span<const std::span<const std::byte>> pieces);

 private:
  static constexpr std::size_t kPiecesPerCall = 1024;  // the system's own limit, UIO_MAXIOV

  [[nodiscard]] std::size_t send(TcpConnection& connection, std::size_t count, bool more);

  TcpStats& stats_;
  std::array<iovec, kPiecesPerCall> gather_{};
};

}  // namespace plnet::drivers

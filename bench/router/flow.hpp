// SPDX-License-Identifier: BSD-3-Clause
// The traffic through a relay, and both its ends in one thread: PUTs in the frames of the kernel's
// LND, written to one socket and counted at another. The bytes are the same with nothing, a bare
// relay or a router between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/uio.h>

#include "drivers/net/tcp/socket.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::bench {

struct FlowEnds {
  lnet::Nid from;
  lnet::Nid to;
  drivers::TcpSocket source;
  drivers::TcpSocket sink;

  [[nodiscard]] bool valid() const { return source.valid() && sink.valid(); }
};

class Flow {
 public:
  // `together`: messages that are sent with one system call, if they may begin.
  Flow(FlowEnds ends, std::uint32_t payload_bytes, std::size_t together = 1);

  // One try at each end. Messages beyond `limit` are not begun.
  void turn(std::uint64_t limit) {
    send(limit);
    receive();
  }
  void send(std::uint64_t limit);
  void receive() { receive(received_.size()); }
  void receive(std::size_t bytes_max);

  [[nodiscard]] std::uint64_t begun() const {
    return (sent_bytes_ + wire_bytes() - 1) / wire_bytes();
  }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_bytes_ / wire_bytes(); }
  // Everything that was begun has arrived.
  [[nodiscard]] bool settled() const { return sent_bytes_ == arrived_bytes_; }
  [[nodiscard]] bool broken() const { return broken_; }
  // False for a flow whose far end is not a socket.
  [[nodiscard]] bool has_source() const { return ends_.source.valid(); }
  [[nodiscard]] bool at_boundary() const { return sent_bytes_ % wire_bytes() == 0; }
  [[nodiscard]] std::size_t wire_bytes() const { return message_.size(); }

 private:
  // Prepares the data of the next call; returns its size.
  [[nodiscard]] std::size_t gather(std::uint64_t limit_bytes);

  FlowEnds ends_;
  std::vector<std::byte> message_;  // repeated equal messages
  const std::size_t together_;
  std::vector<iovec> pieces_;
  std::vector<std::byte> received_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t arrived_bytes_ = 0;
  std::uint64_t idle_turns_ = 0;
  bool broken_ = false;
};

// A connection over loopback, nonblocking and without delay. Invalid if none can be made.
struct SocketPair {
  drivers::TcpSocket near;
  drivers::TcpSocket far;
};
[[nodiscard]] SocketPair connect_pair();

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// Peers that connect to a node, three connections each, and then stay silent: plain sockets with
// just enough of the protocol to be accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/tcp/node.hpp"
#include "drivers/net/tcp/socket.hpp"

namespace plnet::bench {

class Crowd {
 public:
  static constexpr std::uint32_t kFirstAddress = 0x7f010000;  // 127.1.0.0

  ~Crowd();

  // `turn` turns the node. False: not all are connected.
  template <class Turn>
  [[nodiscard]] bool join(TcpNode& node, std::size_t peers, Turn&& turn) {
    using Id = socklnd::SockLndCounters::Id;
    const std::uint64_t open = node.count(Id::kOpen);
    allow_descriptors();
    for (std::uint32_t peer = 0; peer < peers; ++peer) {
      for (unsigned type = 1; type <= kPerPeer; ++type) {
        if (!connect(node.nid(), node.port(), kFirstAddress + peer, type)) return false;
        for (unsigned turns = 0; turns < kTurnsEach; ++turns)
          turn();
      }
    }
    const std::uint64_t wanted = open + peers * kPerPeer;
    for (unsigned turns = 0; turns < kPatience && node.count(Id::kOpen) < wanted; ++turns)
      turn();
    return node.count(Id::kOpen) == wanted;
  }

 private:
  static constexpr unsigned kPerPeer = 3;
  static constexpr unsigned kTurnsEach = 8;
  static constexpr unsigned kPatience = 1'000'000;

  // Raises the limit as far as permitted.
  static void allow_descriptors();
  [[nodiscard]] bool connect(const lnet::Nid& to, std::uint16_t port, std::uint32_t from,
                             unsigned type);

  std::vector<drivers::TcpSocket> sockets_;
};

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// The last use of each net, NI, peer net, peer NI and route on this shard: round robin chooses by
// it when all else ties. The kernel counts per node, per peer and per list of routes
// (lustre-release lnet/lnet/lib-move.c: lnet_handle_send(), lnet_handle_find_routed_path()). Only
// the order among rivals matters, and one counter for all gives the same order. It also makes a
// reused number harmless: the use of its former bearer is never later than now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/peers/net_interface.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

class PathSequences {
 public:
  // The sizes of the tables, by dense number.
  struct Capacity {
    std::size_t nets = kNisMax;
    std::size_t nis = kNisMax;
    std::size_t peer_nets = 0;
    std::size_t peer_nis = 0;
    std::size_t routes = kRoutesMax;
  };

  // Allocates; start-up only.
  explicit PathSequences(const Capacity& capacity)
      : nets_(capacity.nets),
        nis_(capacity.nis),
        peer_nets_(capacity.peer_nets),
        peer_nis_(capacity.peer_nis),
        routes_(capacity.routes) {}

  // 0: never used. 64 bits do not wrap; the kernel's 32 bits do, and then favour one NI for long.
  [[nodiscard]] std::uint64_t of(const Net& net) const { return at(nets_, net.number); }
  [[nodiscard]] std::uint64_t of(const Ni& ni) const { return at(nis_, ni.number); }
  [[nodiscard]] std::uint64_t of(const PeerNetView& net) const {
    return at(peer_nets_, net.number);
  }
  [[nodiscard]] std::uint64_t of(const PeerNi& ni) const { return at(peer_nis_, ni.number); }
  [[nodiscard]] std::uint64_t of(const Route& route) const { return at(routes_, route.number); }

  // Each call is a later use: one message may use the same peer net twice, as next hop and as
  // destination.
  void use(const Net& net, const Ni& ni) {
    PLNET_CHECK(ni.net == net.id, "an NI is used on its network");
    at(nets_, net.number) = ++now_;
    at(nis_, ni.number) = now_;
  }
  void use(const PeerNetView& net, const PeerNi& ni) {
    PLNET_DEBUG_CHECK(net.net == ni.net, "a peer NI is used on its network");
    at(peer_nets_, net.number) = ++now_;
    at(peer_nis_, ni.number) = now_;
  }
  void use(const Route& route) { at(routes_, route.number) = ++now_; }

 private:
  using Table = std::vector<std::uint64_t>;

  [[nodiscard]] static std::uint64_t at(const Table& table, std::size_t number) {
    PLNET_CHECK(number < table.size(), "numbers are dense and within the capacity");
    return table[number];
  }
  [[nodiscard]] static std::uint64_t& at(Table& table, std::size_t number) {
    PLNET_CHECK(number < table.size(), "numbers are dense and within the capacity");
    return table[number];
  }

  std::uint64_t now_ = 0;
  Table nets_;
  Table nis_;
  Table peer_nets_;
  Table peer_nis_;
  Table routes_;
};

}  // namespace plnet::lnet

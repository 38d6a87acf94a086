// SPDX-License-Identifier: BSD-3-Clause
// TCP of a node. Its networks share sockets, as in lnet-router, and therefore the faults of the
// first of them; a later network with faults has its own sockets.
#pragma once

#include <memory>
#include <vector>

#include "apps/lnet-sim/net/network.hpp"
#include "apps/lnet-sim/net/tcp/streams.hpp"

namespace plnet::sim {

class TcpNet final : public NodeNet {
 public:
  explicit TcpNet(const NodeNetSetup& setup);

  void set_node(lnet::Node& node) override;
  [[nodiscard]] std::size_t receives_usual(const NetInterface& of) const override {
    return connections_max(of);
  }
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make_lnd(const NetInterface& of, const lnet::Ni& ni,
                                                    lnet::LndUpcalls& core,
                                                    lnet::ShardId shard) override;
  void listen(const NetInterface& at) override { sockets_of(*at.plan).listen(at.nid); }
  void shut_down() override;
  [[nodiscard]] bool idle() override;
  void close() override;
  unsigned poll(lnet::ShardId shard, Instant now) override;
  [[nodiscard]] Instant next_deadline(lnet::ShardId shard) override;
  void calm() override;
  void set_link(const NetInterface& of, bool up, bool held) override;
  [[nodiscard]] std::uint64_t faults() const override;
  [[nodiscard]] std::uint64_t connections_lost() const override;
  [[nodiscard]] std::uint64_t protocol_errors() const override;

 private:
  struct Sockets {
    const NetPlan* of = nullptr;  // null: shared
    std::unique_ptr<TcpStreams> streams;
  };
  struct Interface {
    std::size_t number = 0;
    socklnd::SockLnd* lnd = nullptr;
  };

  // Null: shared sockets.
  [[nodiscard]] const NetPlan* owner_of(const NetPlan& plan) const;
  [[nodiscard]] std::int64_t conns_per_peer() const;
  [[nodiscard]] std::size_t connections_max(const NetInterface& of) const;
  [[nodiscard]] std::size_t streams_max(const NetPlan* own) const;
  [[nodiscard]] TcpStreams& sockets_of(const NetPlan& plan);

  const NodeNetSetup setup_;
  std::vector<Sockets> sockets_;
  std::vector<Interface> interfaces_;  // on each shard
};

}  // namespace plnet::sim

// SPDX-License-Identifier: BSD-3-Clause
// o2ib of a node: each interface has a port on each shard. The port on the coordinator's shard
// listens for all of them; queue pairs of one peer may lie on several shards.
#pragma once

#include <memory>
#include <vector>

#include "apps/lnet-sim/net/network.hpp"
#include "apps/lnet-sim/net/o2ib/port.hpp"

namespace plnet::sim {

class O2ibNet final : public NodeNet, public O2ibHomes {
 public:
  explicit O2ibNet(const NodeNetSetup& setup);
  ~O2ibNet() override;
  O2ibNet(const O2ibNet&) = delete;
  O2ibNet& operator=(const O2ibNet&) = delete;

  [[nodiscard]] static std::uint64_t bytes_of_shard(const NetInterface& of,
                                                    const NetLimits& limits);
  void set_node(lnet::Node& node) override { node_ = &node; }
  [[nodiscard]] std::size_t receives_usual(const NetInterface& of) const override;
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make_lnd(const NetInterface& of, const lnet::Ni& ni,
                                                    lnet::LndUpcalls& core,
                                                    lnet::ShardId shard) override;
  void listen(const NetInterface& at) override;
  [[nodiscard]] bool idle() override;
  void close() override;
  unsigned poll(lnet::ShardId shard, Instant now) override;
  [[nodiscard]] Instant next_deadline(lnet::ShardId shard) override;
  void calm() override;
  void set_link(const NetInterface& of, bool up, bool held) override;
  [[nodiscard]] std::uint64_t faults() const override;
  [[nodiscard]] std::uint64_t connections_lost() const override;
  [[nodiscard]] std::uint64_t protocol_errors() const override;
  void count_into(NetCounts& counts) const override;

 private:
  // Payload in lazy memory is described, not copied.
  class Copier final : public o2iblnd::PayloadCopier {
   public:
    explicit Copier(drivers::LazyMemory& lazy) : lazy_(lazy) {}
    void copy(std::byte* to, std::span<const std::byte> from) override { lazy_.copy(to, from); }

   private:
    drivers::LazyMemory& lazy_;
  };

  [[nodiscard]] O2ibPort* home_of(const O2ibPort& at, const o2iblnd::Ipv4Endpoint& from) override;
  [[nodiscard]] O2ibPort* port_on(std::size_t interface, lnet::ShardId shard) const;
  void hear(o2iblnd::LaneEnd& end, const o2iblnd::LaneNote& note);
  void turn_down_all();
  [[nodiscard]] std::uint64_t sum_of(o2iblnd::O2ibCounters::Id id) const;

  const NodeNetSetup setup_;
  Copier copier_;
  o2iblnd::LaneExchange lanes_;
  lnet::Node* node_ = nullptr;
  std::vector<std::unique_ptr<O2ibPort>> ports_;
};

}  // namespace plnet::sim

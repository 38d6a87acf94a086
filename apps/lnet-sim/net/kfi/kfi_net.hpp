// SPDX-License-Identifier: BSD-3-Clause
// kfi of a node: each interface is a NIC of its own, on one of the node's shards.
#pragma once

#include <memory>
#include <vector>

#include "apps/lnet-sim/net/kfi/nic.hpp"
#include "apps/lnet-sim/net/network.hpp"

namespace plnet::sim {

class KfiNet final : public NodeNet {
 public:
  explicit KfiNet(const NodeNetSetup& setup) : setup_(setup) {}

  [[nodiscard]] std::vector<std::uint16_t> cpts_of(const NetInterface& of) const override;
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make_lnd(const NetInterface& of, const lnet::Ni& ni,
                                                    lnet::LndUpcalls& core,
                                                    lnet::ShardId shard) override;
  unsigned poll(lnet::ShardId shard, Instant now) override;
  [[nodiscard]] Instant next_deadline(lnet::ShardId shard) override;
  void calm() override;
  void set_link(const NetInterface& of, bool up, bool held) override;
  bool set_nack_storm(const NetInterface& of, bool on) override;
  [[nodiscard]] std::uint64_t faults() const override;
  [[nodiscard]] std::uint64_t protocol_errors() const override;
  void count_into(NetCounts& counts) const override;

 private:
  // A NIC stays until the node is destroyed: it answers peers until then.
  struct Place {
    std::size_t interface = 0;
    lnet::ShardId shard = 0;
    std::unique_ptr<KfiNic> nic;
  };

  const NodeNetSetup setup_;
  std::vector<Place> places_;
};

}  // namespace plnet::sim

// SPDX-License-Identifier: BSD-3-Clause
// RDMA of a node: for each interface and shard an LND, the faults that the site asks for, if any,
// and a simulated verbs device.
#pragma once

#include <memory>
#include <vector>

#include "apps/lnet-sim/net/network.hpp"
#include "apps/lnet-sim/net/rdma/lnd.hpp"
#include "drivers/net/fault/verbs.hpp"
#include "drivers/net/sim/verbs_driver.hpp"

namespace plnet::sim {

class RdmaNet final : public NodeNet {
 public:
  explicit RdmaNet(const NodeNetSetup& setup) : setup_(setup) {}

  [[nodiscard]] static std::uint64_t bytes_of_shard(const NetInterface& of,
                                                    const NetLimits& limits);
  [[nodiscard]] std::size_t receives_usual(const NetInterface& of) const override;
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make_lnd(const NetInterface& of, const lnet::Ni& ni,
                                                    lnet::LndUpcalls& core,
                                                    lnet::ShardId shard) override;
  void close() override;
  unsigned poll(lnet::ShardId shard, Instant now) override;
  [[nodiscard]] Instant next_deadline(lnet::ShardId shard) override;
  void calm() override;
  void set_link(const NetInterface& of, bool up, bool held) override;
  [[nodiscard]] std::uint64_t faults() const override;
  [[nodiscard]] std::uint64_t connections_lost() const override;
  [[nodiscard]] std::uint64_t protocol_errors() const override;

 private:
  struct Device {
    std::size_t interface = 0;
    lnet::ShardId shard = 0;
    RdmaLnd* lnd = nullptr;
    std::unique_ptr<drivers::FaultVerbsDriver> faults{};  // null: none
    std::unique_ptr<drivers::SimVerbsDriver> driver{};
  };

  const NodeNetSetup setup_;
  std::vector<Device> devices_;
};

}  // namespace plnet::sim

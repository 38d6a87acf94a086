// SPDX-License-Identifier: BSD-3-Clause
// What one LND of a node lies between: the tap above it; below it the faults that the site asks
// for, if any, and the simulated device.
#pragma once

#include <cstdint>
#include <memory>

#include "apps/lnet-sim/kfi_nic.hpp"
#include "apps/lnet-sim/left_for_ever.hpp"
#include "apps/lnet-sim/node/tcp_streams.hpp"
#include "apps/lnet-sim/rdma_lnd.hpp"
#include "apps/lnet-sim/stream_lnd.hpp"
#include "apps/lnet-sim/tap.hpp"
#include "drivers/net/fault/stream.hpp"
#include "drivers/net/fault/verbs.hpp"
#include "drivers/net/sim/shard.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "drivers/net/sim/verbs_driver.hpp"

namespace plnet::sim {

class Device {
 public:
  struct Place {
    drivers::HostId host = 0;
    unsigned shard = 0;
    drivers::SimShard& lcore;
    const drivers::FaultPlan& faults;
    Random random;  // of the faults
  };

  Device(std::unique_ptr<Tap> tap, std::size_t interface)
      : tap_(std::move(tap)), interface_(interface) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // One of them, once. The node owns the LND; it is used until close().
  [[nodiscard]] std::unique_ptr<StreamLnd> make_stream(const StreamLndConfig& config,
                                                       drivers::SimStreamFabric& fabric,
                                                       const Place& place);
  [[nodiscard]] std::unique_ptr<RdmaLnd> make_rdma(const RdmaLndConfig& config,
                                                   drivers::SimVerbsFabric& fabric,
                                                   const Place& place);
  // Its driver is the node's TcpStreams.
  [[nodiscard]] std::unique_ptr<socklnd::SockLnd> make_tcp(const socklnd::SockLndConfig& config,
                                                           TcpStreams& streams,
                                                           lnet::ShardId shard);
  [[nodiscard]] std::unique_ptr<kfilnd::KfiLnd> make_kfi(KfiFabric& fabric,
                                                         const KfiNic::Setup& setup,
                                                         lnet::ShardId shard);

  unsigned poll(Instant now);
  // Of its faults; what arrives rings.
  [[nodiscard]] Instant next_deadline() const;
  // No new faults.
  void calm();
  // As the kernel says, or the NIC, when a link goes down or comes up.
  void set_link(bool up);
  // The simulated device goes. The LND must be idle.
  void close();
  // The core above goes on being told things: after a violation nothing is taken apart.
  void abandon() {
    leave_for_ever(tap_);
    leave_for_ever(kfi_);
  }

  [[nodiscard]] unsigned shard() const { return shard_; }
  [[nodiscard]] std::size_t interface() const { return interface_; }  // which NID of the node's
  [[nodiscard]] KfiNic* kfi() const { return kfi_.get(); }            // null: of another kind
  [[nodiscard]] std::uint64_t connections_lost() const;
  [[nodiscard]] std::uint64_t faults() const;  // that happened
  // What peers sent that no correct node sends.
  [[nodiscard]] std::uint64_t protocol_errors() const;

 private:
  std::unique_ptr<Tap> tap_;
  const std::size_t interface_;
  unsigned shard_ = 0;
  StreamLnd* stream_ = nullptr;
  socklnd::SockLnd* tcp_ = nullptr;
  KfiFabric* fabric_ = nullptr;  // of kfi_
  NicAddress home_ = 0;          // there
  RdmaLnd* rdma_ = nullptr;
  std::unique_ptr<drivers::FaultStreamDriver> stream_faults_;
  std::unique_ptr<drivers::FaultVerbsDriver> verbs_faults_;
  std::unique_ptr<drivers::SimStreamDriver> stream_driver_;
  std::unique_ptr<drivers::SimVerbsDriver> verbs_driver_;
  std::unique_ptr<KfiNic> kfi_;
};

}  // namespace plnet::sim

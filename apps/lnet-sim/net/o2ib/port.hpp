// SPDX-License-Identifier: BSD-3-Clause
// An o2ib interface on one shard of a simulated node: o2iblnd as it is, over simulated queue pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "apps/lnet-sim/net/network.hpp"
#include "drivers/net/fault/verbs.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "lib/base/random.hpp"
#include "lib/o2iblnd/lnd.hpp"

namespace plnet::sim {

class O2ibPort;

// Finds the port on the home shard of a connecting peer.
class O2ibHomes {
 public:
  // Null: no room for the peer.
  [[nodiscard]] virtual O2ibPort* home_of(const O2ibPort& at,
                                          const o2iblnd::Ipv4Endpoint& from) = 0;

 protected:
  ~O2ibHomes() = default;
};

class O2ibPort final : public o2iblnd::VerbsEvents {
 public:
  struct Setup {
    std::size_t interface = 0;  // number within the node
    lnet::ShardId shard = 0;
    const Wires& wires;
    ConnectionWatch& watch;
    drivers::HostId host = 0;
    Doorbell& bell;  // of the shard
    drivers::FaultPlan faults;
    Random random;  // for the faults
    o2iblnd::O2ibLndConfig lnd;
  };

  O2ibPort(const Setup& setup, O2ibHomes& homes);
  ~O2ibPort() override;
  O2ibPort(const O2ibPort&) = delete;
  O2ibPort& operator=(const O2ibPort&) = delete;

  // Call once. The node owns the LND.
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make_lnd(lnet::LndUpcalls& core);
  // Connect requests arrive at this port, which passes them to the ports of other shards.
  void listen();
  // Destroys the driver. The LND must be idle.
  void close();

  [[nodiscard]] std::size_t interface() const { return interface_; }
  [[nodiscard]] lnet::ShardId shard() const { return shard_; }
  [[nodiscard]] const lnet::Nid& nid() const { return config_.nid; }
  unsigned poll(Instant now);
  // A note about a queue pair on another shard than its peer's home. False: no LND.
  [[nodiscard]] bool hear(const o2iblnd::LaneNote& note);
  // Rejects a connect request that no port takes.
  void turn_down(const o2iblnd::HandedRequest& request);
  [[nodiscard]] Instant next_deadline() const;
  void calm();
  void set_device(bool up);

  [[nodiscard]] std::uint64_t faults() const;
  [[nodiscard]] std::uint64_t count(o2iblnd::O2ibCounters::Id id) const {
    return of_lnd_[static_cast<std::size_t>(id)] + (lnd_ != nullptr ? lnd_->count(id) : 0);
  }
  void count_into(NetCounts& counts) const;

  // VerbsEvents: called by the driver, or by the faults above it.
  void on_completions(std::span<const o2iblnd::WorkCompletion> burst) override;
  void on_connect_request(o2iblnd::QueuePairId request, const o2iblnd::Ipv4Endpoint& from,
                          const o2iblnd::Ipv4Endpoint& to,
                          std::span<const std::byte> data) override;
  void on_established(o2iblnd::QueuePairId queue_pair,
                      std::span<const std::byte> accept_data) override;
  void on_rejected(o2iblnd::QueuePairId queue_pair, o2iblnd::RejectKind kind,
                   std::span<const std::byte> data) override;
  void on_disconnected(o2iblnd::QueuePairId queue_pair, Errc cause) override;
  void on_drained(o2iblnd::QueuePairId queue_pair) override;
  void on_device(bool usable, Errc cause) override;

 private:
  class Lnd;
  // A queue pair that has come up and not drained.
  struct Established {
    o2iblnd::QueuePairId queue_pair;
    std::uint32_t remote = 0;  // IPv4 address
  };
  using Counts = std::array<std::uint64_t, o2iblnd::O2ibCounters::kInfo.size()>;

  const std::size_t interface_;
  const lnet::ShardId shard_;
  const o2iblnd::O2ibLndConfig config_;
  O2ibHomes& homes_;
  ConnectionWatch& watch_;
  std::vector<Established> established_;
  bool listens_ = false;
  o2iblnd::O2ibLnd* lnd_ = nullptr;
  std::unique_ptr<drivers::FaultVerbsDriver> faults_;  // null: no faults
  std::unique_ptr<drivers::SimVerbsDriver> driver_;
  Counts of_lnd_{};  // counts of the destroyed LND
};

}  // namespace plnet::sim

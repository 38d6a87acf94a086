// SPDX-License-Identifier: BSD-3-Clause
// kfi of a simulated node: kfilnd as it is on the driver for Cassini as it is, on a NIC in software
// with packets, connections and retries, on the simulated fabric. One interface, on one shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "apps/lnet-sim/net/kfi/fabric.hpp"
#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/node.hpp"
#include "drivers/net/fault/endpoint.hpp"
#include "lib/base/arena.hpp"
#include "lib/kfilnd/lnd.hpp"

namespace plnet::sim {

class KfiNic final : public kfilnd::EndpointEvents {
 public:
  struct Setup {
    lnet::Nid nid;
    const KfiPlan& plan;
    const drivers::FaultPlan& faults;  // of packets, and between LND and NIC
    const ArenaTable& arenas;
    Fragment receive_memory;
    std::size_t peers_max = 0;
    std::uint32_t bulk_bytes_max = 0;  // of one payload
    std::uint32_t life = 0;            // of the node: later ones are higher
    Duration lnd_timeout{};
    Instant start{};
    KfiWire::Place place;
  };

  KfiNic(KfiFabric& fabric, const Setup& setup);
  ~KfiNic() override;
  KfiNic(const KfiNic&) = delete;
  KfiNic& operator=(const KfiNic&) = delete;

  // Once. The node owns the LND, which may go before the NIC.
  [[nodiscard]] std::unique_ptr<kfilnd::KfiLnd> make_lnd(lnet::LndUpcalls& core);
  [[nodiscard]] static std::uint64_t receive_bytes(const KfiPlan& plan) {
    return std::uint64_t{plan.receive_buffers} * plan.receive_buffer_bytes;
  }

  unsigned poll(Instant now);
  // Of its timers, and of the packets that it waits for; what arrives rings.
  [[nodiscard]] Instant next_deadline() const;

  // A NIC that is out of resources turns every request away.
  void set_storm(bool on);
  // No new faults, no storm.
  void calm();
  [[nodiscard]] std::uint64_t faults() const;  // that happened
  void count_into(NetCounts& counts) const;
  // Messages of peers that no correct node sends.
  [[nodiscard]] std::uint64_t protocol_errors() const;

  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override;
  void on_link(bool usable, std::uint64_t nic_address) override;

 private:
  class Lnd;

  const kfilnd::KfiLndConfig config_;
  KfiWire wire_;
  cassini::soft::Node node_;
  std::unique_ptr<cassini::Device> device_;
  std::unique_ptr<drivers::FaultEndpointDriver> faults_;  // null: none
  std::unique_ptr<cassini::Endpoint> endpoint_;
  Lnd* lnd_ = nullptr;
  std::uint64_t pushed_ = 0;  // commands that the NIC was told of
  const unsigned answers_;
  NetCounts of_lnd_;  // when it is gone
};

}  // namespace plnet::sim

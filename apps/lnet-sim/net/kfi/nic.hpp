// SPDX-License-Identifier: BSD-3-Clause
// kfi of a simulated node: the real kfilnd on the real driver for Cassini, on a software NIC with
// packets, connections and retries, on the simulated fabric. One interface, on one shard.
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
    std::uint32_t life = 0;            // incarnation number of the node, increasing
    Duration lnd_timeout{};
    Instant start{};
    KfiWire::Place place;
  };

  KfiNic(KfiFabric& fabric, const Setup& setup);
  ~KfiNic() override;
  KfiNic(const KfiNic&) = delete;
  KfiNic& operator=(const KfiNic&) = delete;

  // Call once. The node owns the LND, which may be destroyed before the NIC.
  [[nodiscard]] std::unique_ptr<kfilnd::KfiLnd> make_lnd(lnet::LndUpcalls& core);
  [[nodiscard]] static std::uint64_t receive_bytes(const KfiPlan& plan) {
    return std::uint64_t{plan.receive_buffers} * plan.receive_buffer_bytes;
  }

  unsigned poll(Instant now);
  // The next timer of this NIC or packet that it waits for; arriving packets ring the doorbell.
  [[nodiscard]] Instant next_deadline() const;

  // A NIC without resources rejects every request.
  void set_storm(bool on);
  // Ends faults and storms.
  void calm();
  [[nodiscard]] std::uint64_t faults() const;  // faults so far
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
  std::uint64_t pushed_ = 0;  // commands announced to the NIC
  const unsigned answers_;
  NetCounts of_lnd_;  // counts of the destroyed LND
};

}  // namespace plnet::sim

// SPDX-License-Identifier: BSD-3-Clause
// A node on a software Cassini: the core, the kfi LND and the driver's endpoint on one shard,
// turned as by a poller; several in one process, whose NICs a fabric joins. Without a coordinator:
// peers are known from the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "lib/base/pollable.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"
#include "tests/mocks/core_node.hpp"

namespace plnet::bench {

// NICs, and the time of stepping them.
class SoftFabric {
 public:
  static constexpr std::uint32_t kFirstNic = 0x1a0;
  explicit SoftFabric(unsigned nics);

  [[nodiscard]] cassini::Backend& backend() { return *backend_; }
  // For one thread.
  void step() {
    const std::uint64_t before = clock_.cycles();
    const unsigned done = fabric_.step(++steps_);
    if (done > 0) busy_ += clock_.cycles() - before;
  }
  // The CPU time of steps with work.
  [[nodiscard]] double busy_seconds() const {
    return static_cast<double>(busy_) / clock_.cycles_per_second();
  }

 private:
  cassini::soft::Fabric fabric_;  // without freedom it does everything at once
  std::unique_ptr<cassini::soft::SoftBackend> backend_;
  runtime::TscClock clock_;
  std::uint64_t steps_ = 0;
  std::uint64_t busy_ = 0;
};

// A node's part of one of the NICs: the driver's endpoint, and the LND on it.
class SoftLeg {
 public:
  SoftLeg(SoftFabric& fabric, unsigned nic);

  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }
  // Call once. `arenas` contains all memory of transfers and outlives the LND.
  [[nodiscard]] std::unique_ptr<kfilnd::KfiLnd> make_lnd(lnet::NiPort& port, ArenaTable& arenas);
  unsigned poll(Instant now) { return endpoint_->poll(now); }

 private:
  SoftFabric& fabric_;
  const unsigned nic_;
  const lnet::Nid nid_;
  runtime::TscClock clock_;
  std::vector<std::byte> receive_memory_;
  kfilnd::EndpointRelay relay_;
  std::unique_ptr<cassini::Device> device_;
  std::unique_ptr<cassini::Endpoint> endpoint_;
};

struct SoftNodeSetup {
  unsigned nic = 0;
  std::size_t memory_bytes = std::size_t{1} << 20U;
  std::size_t descriptors = 2048;
  std::int32_t peer_credits = 16;  // the kernel's
};

class SoftNode final : lnet::EventHandler {
 public:
  SoftNode(SoftFabric& fabric, const SoftNodeSetup& setup);
  SoftNode(const SoftNode&) = delete;
  SoftNode& operator=(const SoftNode&) = delete;

  // One turn of the poller. The NIC is stepped elsewhere.
  void turn();
  // A resident of its shard, polled before LNet sends. Null: none.
  void set_resident(Pollable* resident) { resident_ = resident; }
  [[nodiscard]] lnet::Nid nid() const { return leg_.nid(); }
  [[nodiscard]] lnet::Shard& shard() { return core_->shard(0); }
  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  void know(const lnet::Nid& peer) { (void)core_->add_peer(peer); }
  // Attaches the first `length` bytes of its memory for PUTs of others, and counts these.
  void attach_memory(lnet::PortalId portal, std::uint32_t length);
  [[nodiscard]] std::uint64_t puts() const { return puts_; }

 private:
  void on_event(const lnet::Event& event) override {
    if (event.kind == lnet::EventKind::kPut && event.status) ++puts_;
  }

  runtime::TscClock clock_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  SoftLeg leg_;
  std::unique_ptr<mocks::CoreNode> core_;
  Pollable* resident_ = nullptr;
  std::vector<Fragment> target_;
  std::uint64_t puts_ = 0;
};

}  // namespace plnet::bench

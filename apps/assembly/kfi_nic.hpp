// SPDX-License-Identifier: BSD-3-Clause
// One NIC that kfi networks can use, from the start of the node to its end: in hardware by the
// vendor's library, in software on a port of DPDK, or what a provider of libfabric is to us. One NI
// at a time has it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "apps/assembly/kfi_ofi.hpp"
#include "apps/assembly/kfi_options.hpp"
#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/link/node_on_ethdev.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/host/eal.hpp"

namespace plnet::apps {

class KfiNic;

// What an NI has of its NIC: made where NIs are added, used by the shard that serves it.
class KfiLease {
 public:
  KfiLease(KfiNic& nic, const KfiOptions& options) : options_(options), nic_(nic) {}
  ~KfiLease();
  KfiLease(const KfiLease&) = delete;
  KfiLease& operator=(const KfiLease&) = delete;

  // What an endpoint on libfabric needs besides: see KfiOfiRequest.
  struct Start {
    std::uint64_t seed = 0;
    Duration lnd_timeout{};
  };
  [[nodiscard]] Outcome<void> open(const lnet::Nid& nid, const ArenaTable& arenas,
                                   const Start& start);
  [[nodiscard]] const KfiOptions& options() const { return options_; }
  [[nodiscard]] KfiNic& nic() { return nic_; }
  [[nodiscard]] kfilnd::EndpointRelay& relay() { return relay_; }
  [[nodiscard]] kfilnd::EndpointDriver& driver() { return *driver_; }
  [[nodiscard]] Pollable& pollable() { return *pollable_; }
  // Of a Cassini alone.
  [[nodiscard]] bool is_cassini() const { return endpoint_ != nullptr; }
  [[nodiscard]] cassini::Device& device() { return *device_; }
  [[nodiscard]] cassini::Endpoint& endpoint() { return *endpoint_; }

 private:
  [[nodiscard]] Outcome<void> open_cassini(const lnet::Nid& nid, const ArenaTable& arenas);
  const KfiOptions options_;
  KfiNic& nic_;
  kfilnd::EndpointRelay relay_;
  std::unique_ptr<cassini::Device> device_;
  std::unique_ptr<cassini::Endpoint> endpoint_;
  std::unique_ptr<KfiOfi> ofi_;  // or this
  kfilnd::EndpointDriver* driver_ = nullptr;
  Pollable* pollable_ = nullptr;
};

class KfiNic {
 public:
  // The receive buffers' memory is cut from the node's arenas before. `vendor` outlives the NIC;
  // null: the interface is none of its. What fails says where the interface was configured.
  [[nodiscard]] static Outcome<std::unique_ptr<KfiNic>> open(const runtime::KfiInterface& settings,
                                                             const Fragment& receive_memory,
                                                             cassini::Backend* vendor,
                                                             runtime::Eal& eal);
  ~KfiNic();
  KfiNic(const KfiNic&) = delete;
  KfiNic& operator=(const KfiNic&) = delete;

  [[nodiscard]] const std::string& name() const { return settings_.name; }
  [[nodiscard]] const runtime::KfiInterface& settings() const { return settings_; }
  [[nodiscard]] const Fragment& receive_memory() const { return receive_memory_; }
  [[nodiscard]] cassini::Backend& backend() { return *backend_; }  // of a Cassini
  [[nodiscard]] unsigned device_id() const { return device_id_; }
  // The admin thread. The NIC's on the fabric: by hardware, where a cable leads to just now.
  [[nodiscard]] Outcome<std::uint32_t> address();

  // Shard 0. kAgain: an NI that goes still has it; kBusy: another NI does.
  [[nodiscard]] Outcome<void> prepare(const lnet::Nid& nid, const KfiOptions& options,
                                      const ArenaTable& arenas, const KfiLease::Start& start);
  // What was prepared was not needed, or the NI begins to go.
  void unprepare() { delete prepared_.exchange(nullptr, std::memory_order_acquire); }
  void set_leaving() { leaving_.store(true, std::memory_order_relaxed); }
  // The shard that serves it, once for each prepare().
  [[nodiscard]] std::unique_ptr<KfiLease> take();

  // That shard, on each turn: what there is of the NIC in this process.
  unsigned poll(Instant now) { return soft_ == nullptr ? 0 : soft_->poll(now); }
  // Null: it is hardware.
  [[nodiscard]] cassini::soft::NodeOnEthdev* soft() { return soft_.get(); }

 private:
  friend class KfiLease;
  KfiNic(const runtime::KfiInterface& settings, const Fragment& receive_memory)
      : settings_(settings), receive_memory_(receive_memory) {}
  [[nodiscard]] Outcome<void> open_port(runtime::Eal& eal);
  [[nodiscard]] Outcome<cassini::DeviceInfo> find_device();

  const runtime::KfiInterface settings_;
  const Fragment receive_memory_;
  cassini::Backend* backend_ = nullptr;
  unsigned device_id_ = 0;
  std::uint32_t soft_address_ = 0;
  std::unique_ptr<cassini::soft::NodeOnEthdev> soft_;
  std::atomic<bool> taken_{false};
  std::atomic<bool> leaving_{false};
  std::atomic<KfiLease*> prepared_{nullptr};
};

}  // namespace plnet::apps

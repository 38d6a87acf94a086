// SPDX-License-Identifier: BSD-3-Clause
// The fabric of this process, with a port for each shard.
#pragma once

#include <memory>
#include <string>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include "drivers/net/ofi/address.hpp"
#include "drivers/net/ofi/claim.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"

namespace plnet::ofi {

struct DeviceConfig {
  std::string provider;  // empty: any provider with the capabilities
  AddressRule addresses;
  std::uint64_t nic_address = 0;  // ours
  std::uint32_t service = 0;      // LNet's network number
};

struct InfoFree {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoFree>;

// The name of a port.
struct Identity {
  Process process;
  Life life = kNoLife;
  Family family = Family::kName;
  ProviderAddress address;
};

// One reliable-datagram endpoint in its own domain, used by one thread; closed in the reverse
// order. Registered memory must be closed before the domain, after close_endpoint().
class Port {
 public:
  Port() = default;
  ~Port() { close(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] Outcome<void> open(fid_fabric* fabric, Info info, const Identity& own,
                                   std::size_t tx_events, std::size_t rx_events);
  // Called when everything that peers may ask for is ready: by name no peer finds it before, nor
  // after hide().
  [[nodiscard]] Outcome<void> publish();
  void hide() { claim_.hide(); }
  // From now on the provider uses no memory of ours.
  void close_endpoint();
  void close();

  Info info;
  fid_domain* domain = nullptr;
  fid_ep* endpoint = nullptr;
  fid_av* addresses = nullptr;
  fid_cq* tx_queue = nullptr;
  fid_cq* rx_queue = nullptr;

 private:
  [[nodiscard]] Outcome<void> open_queues(std::size_t tx_events, std::size_t rx_events);

  Claim claim_;
};

// Cold. The endpoints must go before it; the arenas outlive it.
class Device {
 public:
  [[nodiscard]] static Outcome<std::unique_ptr<Device>> open(const DeviceConfig& config,
                                                             const ArenaTable& arenas);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // `life` differs for each port that any process opens. It is published later.
  [[nodiscard]] Outcome<void> open_port(Port& port, std::uint8_t context, Life life,
                                        std::size_t tx_events, std::size_t rx_events) const;
  [[nodiscard]] const DeviceConfig& config() const { return config_; }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  [[nodiscard]] const fi_info& info() const { return *info_; }

 private:
  Device(const DeviceConfig& config, const ArenaTable& arenas) : config_(config), arenas_(arenas) {}
  [[nodiscard]] Result<Identity> identity(std::uint8_t context, Life life) const;
  [[nodiscard]] Outcome<Info> ask(const ProviderAddress& own) const;

  DeviceConfig config_;
  const ArenaTable& arenas_;
  Info info_;
  fid_fabric* fabric_ = nullptr;
};

// The nearest code for a number that libfabric returned, negative or not.
[[nodiscard]] Errc errc_of(int returned);
// Formats as "fi_domain: No space left on device".
[[nodiscard]] std::unexpected<Error> fabric_failure(const char* call, int returned);

}  // namespace plnet::ofi

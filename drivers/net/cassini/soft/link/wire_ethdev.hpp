// SPDX-License-Identifier: BSD-3-Clause
// A wire between software NICs on any DPDK port: an ordinary NIC, a memif, a veth. It uses the link
// layer of doc/cassini-wire.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "drivers/net/cassini/soft/link/frame.hpp"
#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "drivers/net/cassini/soft/link/options.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/result.hpp"

struct rte_mempool;  // NOLINT(readability-identifier-naming): DPDK's

namespace plnet::cassini::soft {

struct WireEthdevOptions {
  std::string port;                     // the name in DPDK: net_memif0, 0000:81:00.0, …
  std::optional<NicAddress> address{};  // nothing: the lowest 20 bits of the port's MAC
  // 0: the port's own, followed when it changes. Else the port is set to it; a driver without an
  // MTU (memif) is assumed to carry as much.
  unsigned mtu = 0;
  unsigned descriptors = 512;   // of each of the two rings
  rte_mempool* pool = nullptr;  // nullptr: the wire makes one
  // packet_bytes follows from the MTU, and the seed is mixed with a value that differs between
  // starts.
  link::LinkOptions link{};
};

struct WireEthdevStatus {
  std::string port;
  std::string driver;
  link::Mac mac;
  NicAddress address = 0;
  unsigned mtu = 0;
  bool link_up = false;
  std::optional<link::Mac> clashing;  // another port that claims our address
};

// Uses queue 0 of the port in both directions and the whole port exclusively.
class WireEthdev final : public Wire {
 public:
  // After the start of the EAL, by a thread of it. Takes and starts the port.
  [[nodiscard]] static plnet::Outcome<std::unique_ptr<WireEthdev>> open(
      const WireEthdevOptions& options);
  // Stops and closes the port.
  ~WireEthdev() override;
  WireEthdev(const WireEthdev&) = delete;
  WireEthdev& operator=(const WireEthdev&) = delete;

  [[nodiscard]] std::size_t packet_bytes_max() const override;
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress to) const override;
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override;
  unsigned poll(std::uint64_t now_ns, WireEvents& events) override;
  [[nodiscard]] CounterView counters() const override;

  // Changes the address of this NIC: the next poll() reports it upwards.
  void set_address(NicAddress own);
  [[nodiscard]] WireEthdevStatus status() const;
  [[nodiscard]] const link::LinkLayer& layer() const;

 private:
  struct State;
  explicit WireEthdev(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace plnet::cassini::soft

// SPDX-License-Identifier: BSD-3-Clause
// A cable between software NICs on any port that DPDK drives: an ordinary NIC, a memif, a veth. The
// link layer of doc/cassini-wire.md stands in between.
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
  std::string port;                     // DPDK's name of it: net_memif0, 0000:81:00.0, …
  std::optional<NicAddress> address{};  // nothing: the lowest 20 bits of the port's MAC
  // 0: as the port has it, and followed when it changes. Else the port is told; a driver that knows
  // no MTU (memif) is believed to carry as much.
  unsigned mtu = 0;
  unsigned descriptors = 512;   // of each of the two rings
  rte_mempool* pool = nullptr;  // nullptr: one is made
  // packet_bytes is taken from the MTU, and to the seed is added what differs from start to start.
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

// Uses queue 0 of the port, both ways, and the port as a whole: nobody else may.
class WireEthdev final : public Wire {
 public:
  // After the EAL was started, by a thread of it. Takes and starts the port.
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

  // The fabric gives this NIC another address: the next poll() says so upwards.
  void set_address(NicAddress own);
  [[nodiscard]] WireEthdevStatus status() const;
  [[nodiscard]] const link::LinkLayer& layer() const;

 private:
  struct State;
  explicit WireEthdev(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace plnet::cassini::soft

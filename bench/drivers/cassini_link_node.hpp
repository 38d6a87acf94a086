// SPDX-License-Identifier: BSD-3-Clause
// One end of a Cassini ethdev wire in a process of its own: the EAL, a port of a PMD without
// hardware, and its work. For tests and benchmarks; a process starts one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/net/cassini/soft/link/fault_frames.hpp"
#include "drivers/net/cassini/soft/link/wire_ethdev.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/host/eal.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {

struct LinkNodeOptions {
  std::string vdev;  // net_memif0,role=server,...
  unsigned cpu = 0;
  cassini::soft::WireEthdevOptions wire{};  // its port is the first word of vdev
};

class LinkNode final : public cassini::soft::WireEvents {
 public:
  [[nodiscard]] static Outcome<std::unique_ptr<LinkNode>> start(const LinkNodeOptions& options);

  // One poll. Returns the amount of work.
  unsigned turn() { return wire_->poll(now_ns(), *this); }
  [[nodiscard]] std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
  }
  // A packet of this size whose contents follow from its number. At least kNumberBytes.
  [[nodiscard]] bool send(cassini::soft::NicAddress to, std::uint64_t number, std::size_t bytes);
  [[nodiscard]] cassini::soft::WireEthdev& wire() { return *wire_; }
  // Sets the share of received frames that is lost.
  void set_loss(double share) { faults_->set({.drop = share}); }
  [[nodiscard]] std::uint64_t count(cassini::soft::link::LinkCount id) const {
    return wire_->layer().stats().get(id);
  }

  static constexpr std::size_t kNumberBytes = sizeof(std::uint64_t);
  std::function<void(cassini::soft::NicAddress from, std::uint64_t number)> on_number;
  std::uint64_t damaged = 0;  // packets with wrong contents
  unsigned links_up = 0;      // number of link-up events
  bool is_up = false;
  bool checks = true;  // verifies every received byte

  void on_packet(cassini::soft::NicAddress from, std::span<const std::byte> packet) override;
  void on_link(bool up, cassini::soft::NicAddress own) override;

 private:
  LinkNode() = default;

  runtime::TscClock clock_;
  std::unique_ptr<runtime::Eal> eal_;
  std::unique_ptr<cassini::soft::WireEthdev> wire_;
  std::unique_ptr<cassini::soft::FrameFaults> faults_;
  std::vector<std::byte> payload_;
};

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// A whole node of one shard on simulated TCP: LNet with its coordinator, the TCP LND, the acceptor,
// and a small program under control of the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/sim/shard.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/lnd.hpp"

namespace plnet::sim {

struct TcpNodeSetup {
  lnet::Nid nid;
  std::uint64_t incarnation = 1;
  std::uint64_t interface_cookie = 1;
  Instant start{};
};

class TcpNode final : public Pollable,
                      public lnet::EventHandler,
                      lnet::LndMaker,
                      public socklnd::PeerHomes {
 public:
  TcpNode(const TcpNodeSetup& setup, drivers::SimStreamFabric& fabric, drivers::SimShard& shard);
  ~TcpNode() override;

  [[nodiscard]] lnet::Node& node() { return *node_; }
  [[nodiscard]] const socklnd::SockLnd& lnd() const { return *lnd_; }
  [[nodiscard]] const socklnd::Acceptor& acceptor() const { return *acceptor_; }

  // The program. Memory is never returned: a test's is large enough.
  void put(const lnet::ProcessId& to, lnet::PortalId portal, std::uint64_t match_bits,
           std::span<const std::byte> payload);
  void get(const lnet::ProcessId& to, lnet::PortalId portal, std::uint64_t match_bits,
           std::uint32_t length);
  // Receives PUTs to the portal with any match bits.
  void take_puts(lnet::PortalId portal);
  // Answers one GET with these bytes.
  void attach_for_get(lnet::PortalId portal, std::uint64_t match_bits,
                      std::span<const std::byte> bytes);

  // Data received by PUT or REPLY, in order.
  [[nodiscard]] const std::vector<std::vector<std::byte>>& received() const { return received_; }
  [[nodiscard]] unsigned failures() const { return failures_; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "tcp node"; }
  [[nodiscard]] Instant next_deadline() const override;
  void on_event(const lnet::Event& event) override;

 private:
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId shard) override;
  [[nodiscard]] std::optional<socklnd::LocalInterface> local(const lnet::Nid& nid) const override;
  [[nodiscard]] socklnd::Room room_for(const socklnd::Arrival& arrival) override;
  void hand_over(const socklnd::Arrival& arrival) override;
  // A part of the program's memory; the list stays.
  [[nodiscard]] std::span<const Fragment> room(std::size_t bytes);
  [[nodiscard]] std::span<const Fragment> room(std::span<const std::byte> bytes);

  const TcpNodeSetup setup_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::vector<Doorbell*> bells_;
  socklnd::StreamSwitch streams_;
  std::unique_ptr<drivers::SimStreamDriver> driver_;
  std::unique_ptr<socklnd::Acceptor> acceptor_;
  std::unique_ptr<lnet::Node> node_;
  socklnd::SockLnd* lnd_ = nullptr;  // owned by the node
  std::vector<socklnd::Arrival> arrivals_;
  std::list<Fragment> fragments_;
  std::uint64_t used_ = 0;
  std::vector<std::vector<std::byte>> received_;
  unsigned failures_ = 0;
};

}  // namespace plnet::sim

// SPDX-License-Identifier: BSD-3-Clause
// A kernel that sends the messages of a script and records those that it receives. It interprets
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "drivers/net/sim/shard.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "tests/sim/wire_item.hpp"

namespace plnet::sim {

class ReplayedKernel final : public socklnd::StreamEvents {
 public:
  ReplayedKernel(drivers::SimStreamFabric& fabric, drivers::SimShard& shard, const lnet::Nid& nid);

  // Dials the next connection from this port.
  void dial(const lnet::Nid& to, std::uint16_t from_port);
  void say(unsigned connection, std::span<const std::byte> bytes);
  void stop_reading(unsigned connection) { driver_->pause_reading(links_[connection]->stream); }
  void hang_up(unsigned connection) { driver_->close(links_[connection]->stream, Errc::kReset); }
  // Number of connections so far, made or accepted, in that order.
  [[nodiscard]] unsigned connections() const { return static_cast<unsigned>(links_.size()); }
  // Received items of a connection that were not taken yet.
  [[nodiscard]] std::deque<WireItem>& heard(unsigned connection) {
    return links_[connection]->heard.items();
  }
  // All items were taken, and all connections exist.
  [[nodiscard]] bool all_taken() const;
  [[nodiscard]] unsigned closed() const { return closed_; }
  [[nodiscard]] bool called_from_reserved_ports() const { return reserved_; }

  std::span<std::byte> destination(socklnd::StreamId stream) override;
  std::size_t on_bytes(socklnd::StreamId stream, std::size_t direct,
                       std::span<const std::byte> staged) override;
  void on_writable(socklnd::StreamId stream) override;
  void on_connected(socklnd::StreamId stream, const socklnd::StreamAddresses& addresses) override;
  void on_accepted(socklnd::StreamId stream, const socklnd::StreamAddresses& addresses) override;
  void on_closed(socklnd::StreamId stream, Errc cause, std::uint64_t unacknowledged) override;

 private:
  struct Link {
    explicit Link(bool they_dialled) : heard(they_dialled) {}
    socklnd::StreamId stream;
    bool connected = false;
    WireSplitter heard;
    std::deque<std::byte> unsent;
  };

  [[nodiscard]] Link* find(socklnd::StreamId stream);
  void push(Link& link);

  const lnet::Nid nid_;
  std::unique_ptr<drivers::SimStreamDriver> driver_;
  std::vector<std::unique_ptr<Link>> links_;
  unsigned closed_ = 0;
  bool reserved_ = true;
};

}  // namespace plnet::sim

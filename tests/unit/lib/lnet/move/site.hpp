// SPDX-License-Identifier: BSD-3-Clause
// A few nodes of one or more shards, joined by mock networks: a test can follow a message from the
// first call to its last event and check that nothing was lost.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <ostream>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mocks/core_node.hpp"
#include "tests/mocks/mock_rdma_lnd.hpp"
#include "tests/mocks/mock_stream_lnd.hpp"

namespace plnet::lnet {

enum class Wire : std::uint8_t { kStream, kRdma };

struct SiteSetup {
  Wire wire = Wire::kStream;
  unsigned nodes = 2;
  unsigned shards = 1;  // per node
  NiTunables tunables{};
  ShardLimits limits{.peer_ports = 32,
                     .extra_links = 8,
                     .messages = 64,
                     .receives = 64,
                     .descriptors = 64,
                     .match_entries = 64};
  std::vector<ShardSet> served;  // per node: the shards with an LND
  std::size_t peers = 32;
  std::size_t window = 4;
  std::size_t in_flight_max = 32;
  Duration lnd_timeout = std::chrono::seconds(50);
  std::size_t memory_bytes = 1U << 20;
};

class Recorder final : public EventHandler {
 public:
  void on_event(const Event& event) override { events.push_back(event); }
  [[nodiscard]] std::size_t count(EventKind kind) const;
  // The only event of its kind; a test with none or several fails.
  [[nodiscard]] Event only(EventKind kind) const;

  std::vector<Event> events;
};

// Memory of a node, in two pieces where possible.
struct Buffer {
  std::array<Fragment, 2> pieces;
  std::uint32_t length = 0;
  [[nodiscard]] std::span<const Fragment> fragments() const {
    return std::span(pieces).first(length > 8 ? 2 : 1);
  }
};

class Site {
 public:
  explicit Site(const SiteSetup& setup);
  ~Site();

  [[nodiscard]] mocks::CoreNode& node(unsigned number) { return *nodes_[number]; }
  [[nodiscard]] Shard& shard(unsigned node, unsigned shard) { return nodes_[node]->shard(shard); }
  [[nodiscard]] ShardCore& core(unsigned node, unsigned number) {
    return shard(node, number).core();
  }
  [[nodiscard]] Nid nid(unsigned node) const;
  // The message arrives on the shard with the number of the posting one: the home, where that has
  // an LND.
  PeerNi& know(unsigned node, unsigned other, ShardId home);
  [[nodiscard]] PeerPort* port(unsigned node, unsigned other, ShardId shard);

  // Its address is stable for the lifetime of the site.
  [[nodiscard]] const Buffer& buffer(std::uint32_t length);
  void fill(const Buffer& buffer, unsigned seed);
  // The first `length` bytes from `offset` match fill(), the rest is unchanged.
  [[nodiscard]] bool holds(const Buffer& buffer, std::uint32_t offset, std::uint32_t length,
                           unsigned seed);

  [[nodiscard]] MdHandle bind(unsigned node, unsigned shard, const Buffer& buffer,
                              EventHandler& handler, std::uint32_t options = 0,
                              std::int32_t threshold = kThresholdInfinite);
  Attached attach(unsigned node, unsigned shard, const MeSpec& me, const Buffer& buffer,
                  EventHandler& handler, std::uint32_t options,
                  std::int32_t threshold = kThresholdInfinite);

  void turn();
  void turn_shard(unsigned node, unsigned shard);
  void step_directory(unsigned node) { nodes_[node]->step_directory(now_); }
  void advance(Duration time) { now_ += time; }
  // Advances time and turns every shard once.
  void pass_once(Duration time);
  // Turns until nothing changes; hardly any time passes.
  void settle();
  void pass(Duration time);
  [[nodiscard]] Instant now() const { return now_; }

  [[nodiscard]] std::uint64_t sum(unsigned node, Statistic id);
  [[nodiscard]] std::uint64_t sum(unsigned node, Cause id);
  [[nodiscard]] std::uint64_t traffic(unsigned node, LnetTraffic::Id id);

  // All resources are returned and nothing is in flight. MDs may remain.
  void expect_conserved();

 private:
  const SiteSetup setup_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::uint64_t used_ = 0;
  std::deque<Buffer> buffers_;
  // One for each shard number, joining the shards with that number.
  std::vector<std::unique_ptr<mocks::MockStreamLnd::Network>> streams_;
  std::vector<std::unique_ptr<mocks::MockRdmaLnd::Network>> fabrics_;
  std::vector<std::unique_ptr<mocks::CoreNode>> nodes_;
  Instant now_{std::chrono::seconds(1)};
};

void expect_conserved(mocks::CoreNode& node, unsigned number);

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// A few nodes of one or more shards each, joined by mock networks: what is needed to follow a
// message from the call that begins it to its last event, and to see that nothing was lost.
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
  unsigned shards = 1;  // of each node
  NiTunables tunables{};
  ShardLimits limits{.peer_ports = 32,
                     .extra_links = 8,
                     .messages = 64,
                     .receives = 64,
                     .descriptors = 64,
                     .match_entries = 64};
  std::vector<ShardSet> served;  // of each node: the shards with an LND
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
  // The only one of its kind; a test that finds none or several has failed.
  [[nodiscard]] Event only(EventKind kind) const;

  std::vector<Event> events;
};

// Bytes of a node, in two pieces where that is possible.
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
  // The message arrives on the shard of the same number as the one that posts it: the home, where
  // that has an LND.
  PeerNi& know(unsigned node, unsigned other, ShardId home);
  [[nodiscard]] PeerPort* port(unsigned node, unsigned other, ShardId shard);

  // Addresses stay as long as the site.
  [[nodiscard]] const Buffer& buffer(std::uint32_t length);
  void fill(const Buffer& buffer, unsigned seed);
  // The first `length` bytes from `offset` are those of fill(), the rest is untouched.
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
  // Time, and one turn of everybody.
  void pass_once(Duration time);
  // Until nothing moves; hardly any time passes.
  void settle();
  void pass(Duration time);
  [[nodiscard]] Instant now() const { return now_; }

  [[nodiscard]] std::uint64_t sum(unsigned node, Statistic id);
  [[nodiscard]] std::uint64_t sum(unsigned node, Cause id);
  [[nodiscard]] std::uint64_t traffic(unsigned node, LnetTraffic::Id id);

  // All that was lent is back, nothing is under way. MDs may still be there.
  void expect_conserved();

 private:
  const SiteSetup setup_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::uint64_t used_ = 0;
  std::deque<Buffer> buffers_;
  // One for each shard: shards of the same number are joined.
  std::vector<std::unique_ptr<mocks::MockStreamLnd::Network>> streams_;
  std::vector<std::unique_ptr<mocks::MockRdmaLnd::Network>> fabrics_;
  std::vector<std::unique_ptr<mocks::CoreNode>> nodes_;
  Instant now_{std::chrono::seconds(1)};
};

void expect_conserved(mocks::CoreNode& node, unsigned number);

}  // namespace plnet::lnet

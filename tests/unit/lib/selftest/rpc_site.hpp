// SPDX-License-Identifier: BSD-3-Clause
// Two or more nodes over mock networks. Shards of the same number are joined.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "lib/selftest/requester.hpp"
#include "lib/selftest/responder.hpp"
#include "tests/mocks/core_node.hpp"
#include "tests/mocks/mock_rdma_lnd.hpp"
#include "tests/mocks/mock_stream_lnd.hpp"

namespace plnet::selftest {

enum class Wire : std::uint8_t { kStream, kRdma };

class Nodes {
 public:
  explicit Nodes(Wire wire, unsigned count = 2, std::size_t memory_bytes = 8U << 20,
                 unsigned shards = 1)
      : wire_(wire), memory_(memory_bytes) {
    free_ = {{arenas_.add({.base = memory_.data(), .size = memory_.size()}).value(), 0}, memory_};
    for (unsigned i = 0; i < count; ++i) {
      const mocks::MockLndConfig lnd{.nid = nid(i), .arenas = &arenas_, .piece_bytes = 50'000};
      nodes_.push_back(std::make_unique<mocks::CoreNode>(
          mocks::CoreNodeSetup{.shards = shards,
                               .nids = {nid(i)},
                               .limits = {.peer_ports = 32,
                                          .extra_links = 8,
                                          .messages = 256,
                                          .receives = 256,
                                          .descriptors = 1024,
                                          .match_entries = 1024},
                               .peers = 32,
                               .interface_cookie = 100 + i,
                               .arenas = &arenas_},
          [&](lnet::NiPort& port, lnet::ShardId shard) -> std::unique_ptr<lnet::Lnd> {
            if (wire_ == Wire::kStream)
              return std::make_unique<mocks::MockStreamLnd>(lnd, streams_[shard], port);
            return std::make_unique<mocks::MockRdmaLnd>(lnd, fabrics_[shard], port);
          }));
      nodes_.back()->set_lazy(kTestPortal, true);
      nodes_.back()->set_lazy(kFrameworkPortal, true);
    }
  }

  [[nodiscard]] lnet::Nid nid(unsigned node) const {
    return lnet::Nid::of(wire_ == Wire::kStream ? lnet::NetType::kTcp : lnet::NetType::kO2ib, 0,
                         1 + node);
  }
  [[nodiscard]] lnet::ProcessId id(unsigned node) const { return {.nid = nid(node)}; }
  [[nodiscard]] mocks::CoreNode& node(unsigned number) { return *nodes_[number]; }
  [[nodiscard]] lnet::Shard& shard(unsigned node, unsigned number = 0) {
    return nodes_[node]->shard(number);
  }
  [[nodiscard]] WorkMemory& memory() { return free_; }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  [[nodiscard]] std::uint64_t descriptors(unsigned node, unsigned number = 0) {
    return shard(node, number).core().match.counters().get(lnet::MatchCounters::Id::kMdsInUse);
  }

  // Later senders to the node are refused.
  void vanish(unsigned node) {
    for (auto& network : streams_)
      network.remove(nid(node));
    for (auto& network : fabrics_)
      network.remove(nid(node));
  }

  [[nodiscard]] Instant now() const { return now_; }
  unsigned turn(Duration step = std::chrono::microseconds(1)) {
    now_ += step;
    unsigned work = 0;
    for (const auto& node : nodes_)
      work += node->turn(now_);
    return work;
  }

 private:
  const Wire wire_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  WorkMemory free_;
  std::array<mocks::MockStreamLnd::Network, 2> streams_;  // by shard
  std::array<mocks::MockRdmaLnd::Network, 2> fabrics_;
  std::vector<std::unique_ptr<mocks::CoreNode>> nodes_;
  Instant now_{std::chrono::seconds(1)};
};

// Messages put by hand, and messages received on a portal.
class RawPeer final : public lnet::EventHandler {
 public:
  RawPeer(Nodes& nodes, unsigned node) : nodes_(nodes), node_(node) {
    out_.take_from(nodes.memory());
    in_.take_from(nodes.memory());
  }
  void listen(lnet::PortalId portal, std::uint64_t bits,
              lnet::ProcessId from = {lnet::Nid::any(), lnet::kPidAny}) {
    (void)nodes_.shard(node_)
        .attach({.portal = portal, .match = from, .match_bits = bits},
                {.fragments = std::span(&in_.fragment, 1),
                 .length = kMessageBytes,
                 .threshold = 1,
                 .options = lnet::kMdPut,
                 .handler = this})
        .value();
  }
  // Sends the contents of out().
  void put(const lnet::ProcessId& target, lnet::PortalId portal, std::uint64_t bits,
           std::uint32_t length = kMessageBytes) {
    const auto md =
        nodes_.shard(node_)
            .bind({.fragments = std::span(&out_.fragment, 1), .length = length, .threshold = 1})
            .value();
    (void)nodes_.shard(node_).put(
        md, {.target = target, .portal = portal, .match_bits = bits, .ack = false});
  }
  [[nodiscard]] std::span<std::byte, kMessageBytes> out() const { return out_.span(); }
  [[nodiscard]] std::span<std::byte, kMessageBytes> in() const { return in_.span(); }
  [[nodiscard]] unsigned heard() const { return heard_; }

  void on_event(const lnet::Event& event) override {
    heard_ += event.kind == lnet::EventKind::kPut && event.status ? 1 : 0;
  }

 private:
  Nodes& nodes_;
  const unsigned node_;
  MessageSlot out_;
  MessageSlot in_;
  unsigned heard_ = 0;
};

}  // namespace plnet::selftest

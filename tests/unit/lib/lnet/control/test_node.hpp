// SPDX-License-Identifier: BSD-3-Clause
// A node that is a coordinator on a fake network, and a remote node that a test controls.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/control/coordinator.hpp"
#include "tests/unit/lib/lnet/control/fake_network.hpp"
#include "tests/unit/lib/lnet/nid.hpp"

namespace plnet::lnet {

inline CoordinatorLimits small_limits() {
  return {.peers = {.peers = 64,
                    .peer_nis = 512,
                    .peers_over_2 = 32,
                    .peers_over_8 = 8,
                    .peers_over_40 = 4,
                    .kept_for_own = 4},
          .exchanges = 16,
          .waiting_for_peers = 16};
}

struct TestParcel : Message {
  bool over = false;
};

struct TestDiscover : DiscoverRequest {
  void done(Result<void> outcome) override {
    ++times;
    result = outcome;
  }
  int times = 0;
  Result<void> result;
};

class TestNode final : public CoordinatorHost {
 public:
  explicit TestNode(FakeNetwork& network, const std::vector<Nid>& nids = {},
                    const CoordinatorLimits& limits = small_limits())
      : network_(network),
        operations(network, Coordinator::memory_bytes(limits)),
        coordinator(limits, qsbr_, placement_, parameters, *this,
                    {.at = {.arena = 0, .offset = 0}, .bytes = operations.memory}) {
    reader_ = qsbr_.register_reader().value();
    qsbr_.online(reader_);
    for (const Nid& each : nids)
      add(each);
  }
  ~TestNode() override {
    for (const Nid& each : operations.nids)
      network_.disown(each);
  }

  DataOperations& data() override { return operations; }
  void wait_over(Parcel& parcel) override { static_cast<TestParcel&>(parcel).over = true; }
  void release_peer_ni(PeerNi& ni) override {
    ++releases;
    if (homes_answer)
      coordinator.peer_ni_released(ni);
    else
      held.push_back(&ni);
  }
  void release_held() {
    for (PeerNi* ni : std::exchange(held, {}))
      coordinator.peer_ni_released(*ni);
  }
  void release_ni(Ni& ni) override { coordinator.ni_released(ni); }
  void end_pushes() override {}
  void publish_faults(const FaultView* /*view*/) override {}
  void hop_lost() override { ++hops_lost; }
  [[nodiscard]] RoutedLoad routed_load() const override { return load; }
  void publish_routes(const RouteView& /*view*/) override {}
  void publish_access(const AccessView* /*view*/) override {}
  [[nodiscard]] Instant now() const override { return network_.now(); }

  void add(const Nid& each) {
    ASSERT_TRUE(coordinator.add_ni({.nid = each, .shards = ShardSet(1)}));
    operations.nids.push_back(each);
    network_.own(each, &operations);
  }
  void remove(const Nid& each) {
    ASSERT_TRUE(coordinator.remove_ni(each));
    std::erase(operations.nids, each);
    network_.disown(each);
  }
  unsigned turn() {
    qsbr_.quiescent(reader_);
    return coordinator.step(network_.now());
  }

  Peer* peer(const Nid& of) {
    PeerNi* ni = coordinator.peers().find(of);
    return ni == nullptr ? nullptr : ni->peer.load();
  }
  Peer& make_peer(const Nid& of) {
    EXPECT_TRUE(coordinator.directory().create_by_traffic({of}, now()));
    return *peer(of);
  }
  std::vector<Nid> nids_of(const Nid& of) {
    std::vector<Nid> nids;
    if (Peer* found = peer(of)) {
      for (const PeerNi* ni : found->seen().nis)
        nids.push_back(ni->nid);
    }
    return nids;
  }
  // A message for this NID: requests the peer and its discovery, as a shard would.
  void send(TestParcel& parcel, const Nid& to) {
    parcel.over = false;
    parcel.since.set(now());
    PeerNi* ni = coordinator.peers().find(to);
    if (ni == nullptr) coordinator.want_peer(parcel, {to});
    ni = coordinator.peers().find(to);
    if (ni == nullptr) return;
    parcel.over = false;
    if (!needs_discovery(*ni->peer.load(), MessageType::kPut, 4)) {
      parcel.over = true;
      return;
    }
    coordinator.discover(parcel, *ni);
  }
  std::uint64_t count(DiscoveryTable::Id id) { return coordinator.discovery().counters().get(id); }

  bool homes_answer = true;
  int releases = 0;
  std::vector<PeerNi*> held;
  RoutedLoad load;
  int hops_lost = 0;
  Parameters parameters;

 private:
  FakeNetwork& network_;
  Qsbr qsbr_{2, 64};
  HashPlacement placement_{CptHash(1), {{0}}};
  Qsbr::Reader reader_ = 0;

 public:
  FakeOperations operations;
  Coordinator coordinator;
};

// Answers pings with a configured buffer, and acknowledges pushes or not.
class RawPeer final : public FakeNode {
 public:
  RawPeer(FakeNetwork& network, const std::vector<Nid>& nids, std::uint32_t features = 0x1e)
      : nids_(nids), network_(network) {
    say(nids, features);
    for (const Nid& each : nids)
      network.own(each, this);
  }
  ~RawPeer() override {
    for (const Nid& each : nids_)
      network_.disown(each);
  }

  // Sets its ping buffer to these NIDs and features.
  void say(const std::vector<Nid>& nids, std::uint32_t features = 0x1e,
           std::uint32_t down_from = UINT32_MAX) {
    std::vector<PingEntry> entries;
    for (const Nid& each : nids)
      entries.push_back({each, entries.size() >= down_from ? kNiDown : kNiUp});
    std::array<std::byte, kPingBytesMax> room{};
    const auto length = build_ping({.sequence = ++sequence, .interfaces = entries}, room);
    ASSERT_TRUE(length);
    buffer.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*length));
    const std::uint32_t large = 0x60;  // bits that build_ping() sets by itself
    std::uint32_t word = 0;
    std::memcpy(&word, buffer.data() + 4, 4);
    word = (word & large) | features;
    std::memcpy(buffer.data() + 4, &word, 4);
  }
  void push(const Nid& from, const Nid& to, const Nid& sender = Nid::any()) {
    network_.send({.type = MessageType::kPut,
                   .source = from,
                   .target = to,
                   .length = static_cast<std::uint32_t>(buffer.size()),
                   .payload = buffer,
                   .match_bits = kPingMatchBits,
                   .sender = sender});
  }

  void on_message(const FakeMessage& message) override {
    FakeMessage back{.source = message.target, .target = message.source, .origin = message.origin};
    if (message.type == MessageType::kGet) {
      ++pings;
      sink = message.length;
      if (!answers) return;
      back.type = MessageType::kReply;
      const auto length = std::min<std::size_t>(buffer.size(), message.length);
      back.payload.assign(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length));
      network_.send(back);
    } else if (message.type == MessageType::kPut) {
      ++pushes;
      pushed = message;
      if (!acknowledges) return;
      back.type = MessageType::kAck;
      back.length = message.length;
      network_.send(back);
    } else {
      ++acks;
    }
  }

  bool answers = true;
  bool acknowledges = true;
  std::uint32_t sequence = 0;
  std::uint32_t sink = 0;
  int pings = 0;
  int pushes = 0;
  int acks = 0;
  FakeMessage pushed;
  std::vector<std::byte> buffer;

 private:
  std::vector<Nid> nids_;
  FakeNetwork& network_;
};

// Runs nodes and network until nothing changes any more, or until `until`.
inline void run(FakeNetwork& network, std::initializer_list<TestNode*> nodes,
                Duration until = std::chrono::seconds(1)) {
  const Instant end = network.now() + until;
  for (int turn = 0; turn < 100000; ++turn) {
    network.run_to(network.now());
    unsigned done = 0;
    for (int i = 0; i < 4; ++i) {
      for (TestNode* node : nodes)
        done += node->turn();
    }
    if (done > 0) continue;
    const auto next = network.next();
    if (!next || *next > end) {
      network.run_to(end);
      return;
    }
    network.run_to(*next);
  }
  FAIL() << "it never became idle";
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// A router between two networks whose LNDs hold every message until the test ends it: clients are
// on tcp, servers on tcp1.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet {

struct ForwardSetup {
  unsigned shards = 1;
  BufferCounts buffers{{8, 8, 8}};  // of each shard
  PoolFlags automatic{};            // pools that grow within `budget`
  PoolBudget budget{};
  NiTunables tunables{};
  std::size_t messages = 64;
  std::size_t receives = 128;
  std::size_t kept_for_own = 0;
  std::vector<ShardSet> served{};
  std::vector<Nid> more_nis{};  // further NIs on the servers' network
  std::span<const TapSlot> taps{};
};

class ForwardRig {
 public:
  static constexpr std::uint32_t kRouter = 1;
  static constexpr std::size_t kPeers = 64;

  explicit ForwardRig(const ForwardSetup& setup = {})
      : memory_(setup.shards * RouterMemory::bytes(place_of(setup))),
        node(setup_of(setup), [this](NiPort& port, ShardId shard) {
          auto made = std::make_unique<HeldLnd>(port);
          lnds_[port.ni().number - 1U][shard] = made.get();
          return made;
        }) {
    node.shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kEnabled));
    for (unsigned i = 0; i < setup.shards; ++i)
      EXPECT_TRUE(core(i).buffers.resize(setup.buffers, setup.automatic));
  }

  [[nodiscard]] static constexpr Nid client(std::uint32_t address) {
    return Nid::of(NetType::kTcp, 0, address);
  }
  [[nodiscard]] static constexpr Nid server(std::uint32_t address) {
    return Nid::of(NetType::kTcp, 1, address);
  }
  [[nodiscard]] ShardCore& core(unsigned shard = 0) { return node.shard(shard).core(); }
  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  // The LNDs of the clients' network and of the servers' network.
  [[nodiscard]] HeldLnd& in(unsigned shard = 0) { return *lnds_[0][shard]; }
  [[nodiscard]] HeldLnd& out(unsigned shard = 0) { return *lnds_[1][shard]; }
  [[nodiscard]] HeldLnd& lnd_of(const Ni& ni, unsigned shard) {
    return *lnds_[ni.number - 1U][shard];
  }
  [[nodiscard]] NiPort& port(const Nid& nid, unsigned shard = 0) {
    return *core(shard).ports[nid.net() == server(1).net() ? 2 : 1];
  }
  [[nodiscard]] PeerPort* peer(const Nid& nid, unsigned shard = 0) {
    const PeerNi* const ni = node.directory().find(nid);
    return ni == nullptr ? nullptr : core(shard).peers.find(*ni);
  }

  // Offers a message on a connection of its own.
  RxDecision offer(const Nid& from, const Nid& to, std::uint32_t length, RxHandle rx,
                   MessageType type = MessageType::kPut, unsigned shard = 0) {
    MessageHeader header{.destination = to, .source = from, .type = type};
    header.destination_pid = 77;
    header.source_pid = 88;
    header.payload_length = length;
    if (type == MessageType::kPut) header.set_area(PutArea{.match_bits = rx.index, .portal = 5});
    if (type == MessageType::kGet) header.set_area(GetArea{.match_bits = rx.index, .portal = 5});
    return port(from, shard).on_header({.header = header, .from = from, .rx = rx});
  }
  void received(const Nid& from, RxHandle rx, Result<void> status = {}, unsigned shard = 0) {
    port(from, shard).on_received(rx, status, status ? Health::kOk : Health::kRemoteDropped);
  }
  // Passes a message to the LND of the servers' network if it need not wait.
  RxVerdict forward(const Nid& from, const Nid& to, std::uint32_t length, RxHandle rx) {
    const RxDecision decision = offer(from, to, length, rx);
    if (decision.verdict == RxVerdict::kReceive) received(from, rx);
    settle();
    return decision.verdict;
  }
  // Collects decisions about parked messages of the clients' network, and receives the accepted
  // ones.
  std::vector<RxVerdict> go_on(unsigned shard = 0) {
    std::vector<RxVerdict> verdicts;
    for (const auto& [rx, decision] : std::exchange(in(shard).resumed, {})) {
      verdicts.push_back(decision.verdict);
      if (decision.verdict == RxVerdict::kReceive) received(client(0), rx, {}, shard);
    }
    settle();
    return verdicts;
  }
  void end(std::size_t index, const Completion& how = {}, unsigned shard = 0) {
    out(shard).end(index, how);
    settle();
  }
  void end_all() {
    for (bool more = true; more;) {
      more = false;
      for (unsigned i = 0; i < node.shards(); ++i) {
        more = more || !out(i).held.empty() || !in(i).resumed.empty();
        while (!out(i).held.empty())
          end(0, {}, i);
        go_on(i);
      }
    }
  }
  // Removes the whole NI; false while it is still referenced.
  bool unplug(const Nid& nid, unsigned shard = 0) {
    Ni& ni = port(nid, shard).ni();
    node.shard(shard).close_port(ni);
    settle();
    if (!node.shard(shard).port_idle(ni)) return false;
    node.shard(shard).remove_port(ni);
    return true;
  }
  void settle() { node.settle(now += std::chrono::microseconds(1), 300); }
  void pass(Duration time) {
    for (const Instant until = now + time; now < until;) {
      now += std::chrono::milliseconds(250);
      node.turn(now);
    }
    settle();
  }
  [[nodiscard]] std::uint64_t cause(Cause id) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < node.shards(); ++i)
      sum += core(i).causes.get(id);
    return sum;
  }
  [[nodiscard]] std::uint64_t statistic(Statistic id) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < node.shards(); ++i)
      sum += core(i).statistics.get(id);
    return sum;
  }
  void expect_conserved() { lnet::expect_conserved(node, 0); }

 private:
  static BufferCounts place_of(const ForwardSetup& setup) {
    BufferCounts place = setup.buffers;
    for (const BufferClass each : kAllBufferClasses)
      place[each] = std::max(place[each], setup.budget.most[each]);
    return place;
  }
  static std::vector<Nid> nids_of(const ForwardSetup& setup) {
    std::vector<Nid> nids{client(kRouter), server(kRouter)};
    nids.insert(nids.end(), setup.more_nis.begin(), setup.more_nis.end());
    return nids;
  }
  mocks::CoreNodeSetup setup_of(const ForwardSetup& setup) {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
    mocks::CoreNodeSetup made{.shards = setup.shards,
                              .nids = nids_of(setup),
                              .served = setup.served,
                              .limits = {.peer_ports = 64,
                                         .extra_links = 4,
                                         .messages = setup.messages,
                                         .receives = setup.receives,
                                         .descriptors = 8,
                                         .match_entries = 8},
                              .peers = kPeers,
                              .kept_for_own = setup.kept_for_own,
                              .tunables = setup.tunables,
                              .arenas = &arenas_,
                              .taps = setup.taps};
    for (unsigned i = 0; i < setup.shards; ++i) {
      made.router_memory.push_back({.at = {0, i * RouterMemory::bytes(place_of(setup))},
                                    .most = place_of(setup),
                                    .budget = setup.budget});
    }
    return made;
  }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::array<std::array<HeldLnd*, kShardsMax>, 3> lnds_{};

 public:
  Instant now{std::chrono::seconds(1)};
  mocks::CoreNode node;
};

// Two clients and two servers that the router knows.
struct AcquaintedRig : ForwardRig {
  static constexpr Nid kClient = client(10);
  static constexpr Nid kOther = client(11);
  static constexpr Nid kServer = server(20);
  static constexpr Nid kBackup = server(21);

  explicit AcquaintedRig(const ForwardSetup& setup = {}, ShardId home = 0) : ForwardRig(setup) {
    for (const Nid& nid : {kClient, kOther, kServer, kBackup})
      node.add_peer(nid, home);
    settle();  // updates the shard's clock
  }
};

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// A complete node with a TCP network on addresses of this process; the test turns it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/clock.hpp"
#include "node/net/tcp/host.hpp"
#include "tests/unit/node/admin/small_node.hpp"

namespace plnet::node {

// Addresses of this process alone, so that tests can run at the same time.
inline std::uint32_t address(unsigned last) {
  const auto pid = static_cast<unsigned>(::getpid());
  return 127U << 24U | (64 + (pid >> 8U) % 128) << 16U | (pid & 0xffU) << 8U | last;
}

inline lnet::Nid nid_of(unsigned last) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, address(last));
}

inline TcpOptions options_of_test(unsigned connections = 0) {
  TcpOptions options;
  options.accept = socklnd::AcceptPolicy::kAll;  // the user of the tests may not be allowed
                                                 // reserved ports
  options.tunables.conns_per_peer = connections;
  options.tunables.accept_port = options.tunables.accept_port_bulk = 21'988;
  return options;
}

// Loopback answers within the system call; this bound is for a very busy machine.
inline constexpr unsigned kTurnsMax = 2'000'000;

struct SideSetup {
  unsigned shards = 1;
  std::uint64_t incarnation = 1;
  bool one_cpt = false;      // else each shard has its own
  unsigned connections = 0;  // conns_per_peer
  std::size_t messages = 32;
};

// A whole node.
class TcpSide {
  ManualClock& clock_;
  SmallNode small_;  // declared before its users
  const std::uint64_t incarnation_;

 public:
  TcpSide(const SideSetup& setup, ManualClock& clock)
      : clock_(clock),
        small_(setup.shards, setup.messages, setup.one_cpt),
        incarnation_(setup.incarnation) {
    for (unsigned i = 0; i < setup.shards; ++i)
      places.push_back(std::make_unique<LnetShard>(i));
    small_.setup.interface_cookie = setup.incarnation;
    small_.setup.start = clock.now();
    node = std::make_unique<lnet::Node>(small_.setup);
    tcp = std::move(TcpHost::create({.shards = setup.shards,
                                     .cpt_of_shard = small_.setup.cpt_of_shard,
                                     .options = options_of_test(setup.connections),
                                     .streams_max = 64}))
              .value();
    tcp->connect(*places[0], small_.doorbells);
    for (const auto& place : places)
      place->set_node_owner(node.get());
    node->set_running();
    maker_ = tcp->maker(
        lnet::NetType::kTcp,
        {.arenas = &small_.arenas, .messages = setup.messages, .peers = 16, .clock = &clock});
  }
  // Messages in flight end first, as when LNet is taken down.
  ~TcpSide() {
    std::vector<lnet::Nid> nids;
    for (const lnet::Ni* const ni : node->coordinator().local().nis)
      nids.push_back(ni->nid);
    for (const lnet::Nid& nid : nids)
      remove(nid);
    node->coordinator().shut_down();
    const auto quiet = [this] {
      return node->releasing_nis() == 0 && node->coordinator().quiet() && node->idle() &&
             open_streams() == 0;
    };
    for (unsigned turns = 0; !quiet() && turns < kTurnsMax; ++turns) {
      clock_.advance(std::chrono::microseconds(10));
      turn(clock_.now());
    }
    EXPECT_TRUE(quiet());
    for (const auto& place : places)
      place->set_node_owner(nullptr);
    node.reset();
  }
  TcpSide(const TcpSide&) = delete;
  TcpSide& operator=(const TcpSide&) = delete;

  [[nodiscard]] Outcome<void> add(const lnet::Nid& nid) {
    const auto rules = tcp->rules();
    lnet::NiSetup setup{.nid = nid, .tunables = rules->defaults(), .incarnation = incarnation_};
    if (auto able = rules->complete({.nid = nid}, std::chrono::seconds(50), setup); !able)
      return able;
    if (auto open = maker_->open(setup); !open) return open;
    EXPECT_TRUE(node->add_ni(setup, *maker_));
    return {};
  }
  void remove(const lnet::Nid& nid) {
    maker_->close({.nid = nid});
    EXPECT_TRUE(node->remove_ni(nid));
  }
  void turn(Instant now) {
    for (unsigned i = 0; i < places.size(); ++i)
      turn_shard(i, now);
  }
  void turn_shard(unsigned shard, Instant now) {
    places[shard]->opening().poll(now);
    tcp->place(shard).poll(now);
    places[shard]->closing().poll(now);
    places[shard]->quiescent();
  }
  [[nodiscard]] std::uint64_t streams_of(unsigned shard) const {
    return tcp->place(shard).device().counters().value(
        static_cast<std::size_t>(drivers::TcpTable::Id::kOpen));
  }
  // A counter of the LND of the first network.
  [[nodiscard]] std::uint64_t count(unsigned shard, socklnd::SockLndCounters::Id id) const {
    return node->shard(shard).core().ports[1]->lnd().counters().value(static_cast<std::size_t>(id));
  }
  [[nodiscard]] ArenaTable& arenas() { return small_.arenas; }
  [[nodiscard]] std::uint64_t open_streams() const {
    std::uint64_t open = 0;
    for (unsigned i = 0; i < places.size(); ++i)
      open += streams_of(i);
    return open;
  }
  [[nodiscard]] std::uint64_t arrived(unsigned shard) const {
    return tcp->place(shard).inbox().counters().value(
        static_cast<std::size_t>(socklnd::ShardInboxTable::Id::kArrived));
  }

  std::vector<std::unique_ptr<LnetShard>> places;
  std::unique_ptr<TcpHost> tcp;
  std::unique_ptr<lnet::Node> node;

 private:
  std::unique_ptr<NetworkMaker> maker_;
};

}  // namespace plnet::node

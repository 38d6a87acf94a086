// SPDX-License-Identifier: BSD-3-Clause
// A node on the system's TCP: the core, the TCP LND, its driver and its acceptor on one shard,
// turned as by a poller. Without a coordinator: peers are known from the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/tcp/device.hpp"
#include "lib/base/pollable.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/lnd.hpp"
#include "lib/socklnd/stream_switch.hpp"
#include "tests/mocks/core_node.hpp"

namespace plnet::bench {

// Counts the events of one side's messages.
struct CountEvents final : lnet::EventHandler {
  void on_event(const lnet::Event& event) override {
    if (event.kind == lnet::EventKind::kSend) ++sends;
    if (event.kind == lnet::EventKind::kPut) ++puts;
    if (!event.status) ++failures;
    if (event.kind != lnet::EventKind::kAck) return;
    ++acks;
    if (on_ack) on_ack();
  }
  std::function<void()> on_ack;
  std::uint64_t acks = 0;
  std::uint64_t sends = 0;
  std::uint64_t puts = 0;
  std::uint64_t failures = 0;
};

// Another network of the node, of another type.
struct OtherNet {
  lnet::Nid nid;
  // The LND adds its memory to the node's.
  std::function<std::unique_ptr<lnet::Lnd>(lnet::NiPort& port, ArenaTable& arenas)> make_lnd;
  std::function<unsigned(Instant now)> poll;
};

inline constexpr std::int32_t kPeerCredits = 8;  // the kernel's default

struct TcpNodeSetup {
  std::uint32_t address = 0x7f000001;  // 127.0.0.1: also its NIDs
  std::uint16_t nets = 1;              // tcp, tcp1, …
  std::uint16_t first_net = 0;         // the first of these networks
  std::uint16_t port = 0;
  std::size_t peers = 4;                     // each with three connections
  std::int32_t peer_credits = kPeerCredits;  // any other number counts as set, so that no credits
                                             // are borrowed
  std::size_t memory_bytes = std::size_t{1} << 20U;
  std::size_t descriptors = 2048;
  std::size_t match_entries = 64;
  bool reserved_ports = true;         // else one connection for each peer, from any port
  bool routing = false;               // forwards between its nets
  std::uint32_t relay_bytes_min = 0;  // of forwarded payloads: from socket to socket
  const OtherNet* other = nullptr;
  const runtime::TscClock* clock = nullptr;
};

class TcpNode final : public socklnd::PeerHomes {
 public:
  static constexpr lnet::PortalId kPortal = 26;

  explicit TcpNode(const TcpNodeSetup& setup);
  ~TcpNode() override;
  TcpNode(const TcpNode&) = delete;
  TcpNode& operator=(const TcpNode&) = delete;

  // False: the port is in use, or this process may not use reserved ports.
  [[nodiscard]] bool listen();
  // One turn of the poller; returns pieces of work.
  unsigned turn();
  // A resident of its shard, polled before LNet sends. Null: none.
  void set_resident(Pollable* resident) { resident_ = resident; }

  [[nodiscard]] lnet::Nid nid() const { return nids_.front(); }
  [[nodiscard]] const std::vector<lnet::Nid>& nids() const { return nids_; }
  [[nodiscard]] std::uint16_t port() const { return setup_.port; }
  [[nodiscard]] lnet::Shard& shard() { return core_->shard(0); }
  // All of it is arena 0.
  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  void know(const lnet::Nid& peer) { (void)core_->add_peer(peer); }
  // The first `length` bytes of its memory: as a source of PUTs, and as a target for others.
  [[nodiscard]] lnet::MdHandle source(std::uint32_t length);
  void attach_memory(std::uint32_t length);
  void put(lnet::MdHandle md, const lnet::Nid& to, bool ack) {
    (void)core_->shard(0).put(md, {.target = {to}, .portal = kPortal, .ack = ack});
  }

  [[nodiscard]] std::uint64_t count(drivers::TcpTable::Id id) const {
    return device_->counters().value(static_cast<std::size_t>(id));
  }
  [[nodiscard]] std::uint64_t count(socklnd::SockLndCounters::Id id) const {
    return lnds_.front()->count(id);
  }
  CountEvents events;

  [[nodiscard]] std::optional<socklnd::LocalInterface> local(const lnet::Nid& nid) const override;
  [[nodiscard]] socklnd::Room room_for(const socklnd::Arrival& arrival) override;
  void hand_over(const socklnd::Arrival& arrival) override { arrivals_.push_back(arrival); }

 private:
  [[nodiscard]] socklnd::SockLnd& lnd_of(const lnet::Nid& nid);

  const TcpNodeSetup setup_;
  const std::vector<lnet::Nid> nids_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> router_memory_;
  ArenaTable arenas_;
  socklnd::StreamSwitch streams_;
  std::unique_ptr<drivers::TcpDevice> device_;
  std::unique_ptr<socklnd::Acceptor> acceptor_;
  std::vector<socklnd::SockLnd*> lnds_;  // by NID; owned by the core
  std::unique_ptr<mocks::CoreNode> core_;
  std::vector<socklnd::Arrival> arrivals_;
  Pollable* resident_ = nullptr;
  std::vector<Fragment> source_;
  std::vector<Fragment> target_;
};

// Two connected nodes: three connections, and nothing under way.
struct TcpNodePair {
  explicit TcpNodePair(const TcpNodeSetup& common, std::uint32_t payload_bytes = 0);

  [[nodiscard]] bool ready() const { return md.generation != 0; }
  void turn() {
    near->turn();
    far->turn();
  }
  // From near to far.
  void put(bool ack) {
    near->put(md, far->nid(), ack);
    ++begun;
  }
  void settle();

  runtime::TscClock clock;
  std::unique_ptr<TcpNode> near;
  std::unique_ptr<TcpNode> far;
  lnet::MdHandle md;
  std::uint64_t begun = 0;

 private:
  [[nodiscard]] bool listen(TcpNodeSetup setup);
};

// The reason of a pair that is not ready().
inline constexpr const char* kNotReady = "no port is free, or reserved ports are not for us";

[[nodiscard]] inline double share(std::uint64_t part, std::uint64_t of) {
  return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
}

[[nodiscard]] lnet::Nid nid_of(std::uint32_t address, std::uint16_t net = 0);
[[nodiscard]] socklnd::SocketAddress socket_address(std::uint32_t address, std::uint16_t port);

}  // namespace plnet::bench

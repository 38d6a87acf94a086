// SPDX-License-Identifier: BSD-3-Clause
// The simulator's LND of the RDMA kind over queue pairs. Small messages travel with their header;
// a large PUT asks for its sink and writes there, a GET brings its sink along and is answered by
// a write. A queue pair serves the requests of who connected it; answers come back on it. Requests
// are bounded by credits, one for each record that the other side keeps; what answers them finds a
// posted receive always.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "apps/lnet-sim/net/rdma/peer_queues.hpp"
#include "drivers/net/sim/lazy_memory.hpp"

namespace plnet::sim {

struct RdmaLndConfig {
  lnet::Nid nid;  // its address is the host's IPv4 address
  std::uint16_t port = 987;
  unsigned shard = 0;   // of the host
  unsigned shards = 1;  // its shards share the ports
  const ArenaTable* arenas = nullptr;
  drivers::LazyMemory* lazy = nullptr;
  BufferAddress memory;  // memory_bytes() of it
  std::size_t peers_max = 64;
  std::size_t pairs_max = 64;
  std::uint32_t inline_bytes_max = 512;
  Duration lnd_timeout = std::chrono::seconds(50);
};

class RdmaLnd final : public PeerQueues, public o2iblnd::VerbsEvents {
 public:
  RdmaLnd(const RdmaLndConfig& config, lnet::LndUpcalls& core);
  ~RdmaLnd() override;
  [[nodiscard]] static std::uint64_t memory_bytes(const RdmaLndConfig& config);
  // The driver is made with this for its events; then the LND listens.
  void attach(o2iblnd::VerbsDriver& driver);

  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;

  void on_completions(std::span<const o2iblnd::WorkCompletion> burst) override;
  void on_connect_request(o2iblnd::QueuePairId request, const o2iblnd::Ipv4Endpoint& from,
                          const o2iblnd::Ipv4Endpoint& to,
                          std::span<const std::byte> data) override;
  void on_established(o2iblnd::QueuePairId id, std::span<const std::byte> data) override;
  void on_rejected(o2iblnd::QueuePairId id, o2iblnd::RejectKind kind,
                   std::span<const std::byte> data) override;
  void on_disconnected(o2iblnd::QueuePairId id, Errc cause) override;
  void on_drained(o2iblnd::QueuePairId id) override;
  void on_device(bool usable, Errc cause) override;

 private:
  using Peer = RdmaPeer;
  using Pair = RdmaPair;
  using Request = RdmaRequest;
  using Inbound = RdmaInbound;
  static constexpr std::size_t kDepth = Pair::kDepth;
  static constexpr std::size_t kSlots = Pair::kSlots;
  static constexpr std::size_t kPorts = 4;

  void serve(Peer& peer) override;
  void on_late_waiting(Peer& peer) override;
  void carry_out_decision(std::uint32_t rx_index) override;
  void check_connections(Instant now) override;
  void close_connections(Peer& peer) override;
  void close_all() override;
  [[nodiscard]] bool disconnected(const Peer& peer) const override { return peer.pair == nullptr; }
  [[nodiscard]] bool all_closed() const override {
    return pairs_.free_count() == pairs_.capacity();
  }

  [[nodiscard]] Pair* pair_of(o2iblnd::QueuePairId id);
  [[nodiscard]] Pair* open_pair(o2iblnd::QueuePairId id, bool active);
  [[nodiscard]] Fragment slot_memory(const Pair& pair, std::size_t slot, bool receive) const;
  void post_receive(const Pair& pair, std::size_t slot);
  void connect(Peer& peer);
  void break_pair(Pair& pair, Errc cause);
  void quarantine_open_sinks(Pair& pair);
  void end_requests(Pair& pair);
  void try_again(Pair& pair);
  // rdma_lnd_tx.cpp
  void pump(Pair& pair);
  [[nodiscard]] bool begin(Pair& pair, lnet::Transmit& transmit);
  [[nodiscard]] bool post(Pair& pair, const RdmaFrame& frame, std::uint32_t payload,
                          const lnet::Transmit* inline_source, std::uint64_t cookie);
  [[nodiscard]] bool post_writes(Pair& pair, const lnet::Payload& source, std::uint32_t length,
                                 std::span<const RdmaPiece> sink, const RdmaFrame& last,
                                 std::uint64_t cookie);
  void lay_open(const lnet::Payload& window, std::uint32_t length, RdmaFrame& frame) const;
  void go_on(Pair& pair);
  void sent(Pair& pair, std::uint64_t cookie);
  void end_request(Pair& pair, Request& request, Result<void> status, Health health,
                   std::uint32_t placed = 0);
  // rdma_lnd_rx.cpp
  void received(Pair& pair, const o2iblnd::WorkCompletion& completion);
  void answered(Pair& pair, const RdmaFrame& frame);
  void asked(Pair& pair, const RdmaFrame& frame, std::uint32_t bytes, std::size_t slot);
  void offer_queued(Pair& pair);
  void carry_out(Pair& pair, Inbound& inbound);
  void place_immediate(Pair& pair, Inbound& inbound, std::uint32_t length);
  [[nodiscard]] bool advance(Pair& pair, Inbound& inbound);
  void release(Pair& pair, Inbound& inbound);
  void tell_received(Pair& pair, Inbound& inbound, Result<void> status, Health health);
  void return_credits(Pair& pair);
  void take_link(Pair& pair, lnet::PeerLink* link);
  void end_inbound(Pair& pair);
  [[nodiscard]] lnet::RxHandle handle_of(const Pair& pair, const Inbound& inbound) const;

  const RdmaLndConfig config_;
  const std::uint32_t slot_bytes_;
  o2iblnd::VerbsDriver* driver_ = nullptr;
  Pool<Pair> pairs_;
  std::vector<std::uint32_t> owners_;  // pair by index of the queue pair
  IntrusiveList<Pair> again_;          // something could not be posted
};

}  // namespace plnet::sim

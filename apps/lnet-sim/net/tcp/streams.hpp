// SPDX-License-Identifier: BSD-3-Clause
// TCP of a simulated node: the real socklnd over the simulator's byte streams. A driver on each
// shard, shared by the LNDs of all TCP interfaces; on shard 0 the acceptor, which passes
// connections to the home of their peer. Lanes lie on all shards.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/fault/plan.hpp"
#include "drivers/net/fault/stream.hpp"
#include "drivers/net/sim/shard.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/lane_exchange.hpp"
#include "lib/socklnd/shard_inbox.hpp"
#include "lib/socklnd/stream_switch.hpp"

namespace plnet::sim {

class TcpStreams final : public socklnd::PeerHomes {
 public:
  struct Parts {
    drivers::SimStreamFabric& fabric;
    drivers::HostId host = 0;
    std::span<const std::unique_ptr<drivers::SimShard>> lcores;
    std::size_t streams_max = 0;  // of each shard
    drivers::FaultPlan faults;
    Random random;                   // for the faults
    std::size_t strangers_max = 64;  // the backlog has at least as many places
  };

  explicit TcpStreams(const Parts& parts);
  ~TcpStreams() override;
  TcpStreams(const TcpStreams&) = delete;
  TcpStreams& operator=(const TcpStreams&) = delete;

  // Call once, before the first interface.
  void set_node(lnet::Node& node) { node_ = &node; }
  // The node owns the LND.
  [[nodiscard]] std::unique_ptr<socklnd::SockLnd> make(const socklnd::SockLndConfig& config,
                                                       lnet::LndUpcalls& core, lnet::ShardId shard);
  // Other nodes may connect to this interface; called when all shards know it.
  void listen(const lnet::Nid& nid);
  // Accepts no more connections.
  void shut_down();
  // No incoming connection is being accepted.
  [[nodiscard]] bool idle();
  // Destroys the drivers. The LNDs must be idle.
  void close();

  unsigned poll(lnet::ShardId shard, Instant now);
  // The next fault or deadline of a stranger; arriving messages ring the doorbell.
  [[nodiscard]] Instant next_deadline(lnet::ShardId shard);
  // Ends all faults.
  void calm();

  [[nodiscard]] std::uint64_t faults() const;  // faults so far
  [[nodiscard]] std::uint64_t connections_lost() const;
  // Strangers that are no correct nodes.
  [[nodiscard]] std::uint64_t strange_strangers() const;

 private:
  // A small limit, so that some connections are refused.
  static constexpr std::size_t kArrivalsMax = 16;

  struct Place {
    explicit Place(std::size_t streams_max) : streams(streams_max) {}
    socklnd::StreamSwitch streams;
    std::unique_ptr<drivers::FaultStreamDriver> faults;
    std::unique_ptr<drivers::SimStreamDriver> driver;
    socklnd::ShardInbox inbox{streams, kArrivalsMax};
  };

  // PeerHomes.
  [[nodiscard]] std::optional<socklnd::LocalInterface> local(const lnet::Nid& nid) const override;
  [[nodiscard]] socklnd::Room room_for(const socklnd::Arrival& arrival) override;
  void hand_over(const socklnd::Arrival& arrival) override;

  lnet::Node* node_ = nullptr;
  const unsigned backlog_;
  std::vector<std::unique_ptr<Place>> places_;
  std::unique_ptr<socklnd::Acceptor> acceptor_;
  socklnd::LaneExchange lanes_;
  std::vector<lnet::Nid> listening_;
  std::optional<lnet::ShardId> home_;  // result of room_for()
};

}  // namespace plnet::sim

// SPDX-License-Identifier: BSD-3-Clause
// TCP on all shards of a node: who listens, who is let in, and to which shard a connection goes.
// The acceptor is where the coordinator is, on shard 0, since it asks for peers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/assembly/lnet_shard.hpp"
#include "apps/assembly/tcp_options.hpp"
#include "apps/assembly/tcp_place.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/peer_homes.hpp"

namespace plnet::apps {

class TcpHost final : private socklnd::PeerHomes {
 public:
  struct Parts {
    unsigned shards = 1;
    // Whose shards may have connections of one peer; empty: each shard is alone.
    std::vector<std::uint16_t> cpt_of_shard{};
    TcpOptions options;
    // Of each shard; the memory of those that are never used is never touched.
    std::size_t streams_max = 4096;
    drivers::BusyPoll busy_poll{};
    std::uint32_t relay_bytes_min = 0;
    std::string congestion_control{drivers::TcpCongestion::kAuto};
    // Shard 0's, where the node is while there is one.
    const LnetShard* first = nullptr;
  };

  [[nodiscard]] static Outcome<std::unique_ptr<TcpHost>> create(const Parts& parts);
  TcpHost(const TcpHost&) = delete;
  TcpHost& operator=(const TcpHost&) = delete;

  [[nodiscard]] TcpPlace& place(unsigned shard) { return *places_[shard]; }
  void set_doorbells(std::span<Doorbell* const> doorbells);

  [[nodiscard]] const TcpOptions& options() const { return parts_.options; }
  // The admin thread, while no NI is being made or opened: shards look at them then.
  void set_options(const TcpOptions& options) { parts_.options = options; }
  [[nodiscard]] std::size_t streams_max() const { return parts_.streams_max; }
  [[nodiscard]] std::uint32_t relay_bytes_min() const { return parts_.relay_bytes_min; }
  // May we use ports below 1024?
  [[nodiscard]] bool privileged() const { return privileged_; }
  // What the system says to the busy polling that is wanted; "": nothing. Nothing fails for it.
  [[nodiscard]] std::string busy_poll_refusal() const {
    return drivers::busy_poll_refusal(parts_.busy_poll);
  }
  [[nodiscard]] CounterView acceptor_counters() const { return acceptor_.counters(); }

  // The admin thread: what all shards complain of.
  void say_complaints(runtime::OnceLog& log);

  // Shard 0: from now on others may connect to this NI. Fails with what to do about it.
  [[nodiscard]] Outcome<void> open_ni(const lnet::Nid& nid);
  // Nothing happens if it was not opened.
  void close_ni(const lnet::Nid& nid);

 private:
  // NIs of several networks may have one address.
  struct Door {
    lnet::Nid nid;
    std::vector<socklnd::SocketAddress> addresses;
  };

  explicit TcpHost(const Parts& parts, std::vector<std::unique_ptr<TcpPlace>> places);
  [[nodiscard]] bool is_open(const socklnd::SocketAddress& address) const;

  // PeerHomes.
  [[nodiscard]] std::optional<socklnd::LocalInterface> local(const lnet::Nid& nid) const override;
  [[nodiscard]] bool admits(const socklnd::Arrival& arrival) override;
  [[nodiscard]] bool has_room(const socklnd::Arrival& arrival) override;
  void hand_over(const socklnd::Arrival& arrival) override;

  Parts parts_;  // but for the options constant
  const bool privileged_;
  socklnd::LaneExchange lanes_;
  std::vector<std::unique_ptr<TcpPlace>> places_;
  socklnd::Acceptor acceptor_;
  std::vector<Door> doors_;
  std::optional<lnet::ShardId> home_;  // what has_room() found
};

// Of an NI, as sockets have it; port 0.
[[nodiscard]] socklnd::SocketAddress socket_address(const lnet::Nid& nid);

}  // namespace plnet::apps

// SPDX-License-Identifier: BSD-3-Clause
// TCP on all shards of a node: listening, acceptance, and the choice of a connection's shard. The
// acceptor is on shard 0 with the coordinator, whose peers it looks up.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/peer_homes.hpp"
#include "node/host/address_links.hpp"
#include "node/host/lnet_shard.hpp"
#include "node/host/network_family.hpp"
#include "node/net/tcp/connections_by_link.hpp"
#include "node/net/tcp/options.hpp"
#include "node/net/tcp/place.hpp"

namespace plnet::node {

class TcpHost final : public FamilyHost, private socklnd::PeerHomes {
 public:
  struct Parts {
    unsigned shards = 1;
    // Shards of one CPT may share the connections of a peer. Empty: each shard is alone.
    std::vector<std::uint16_t> cpt_of_shard{};
    TcpOptions options;
    // On each shard; the memory of unused ones is never touched.
    std::size_t streams_max = 4096;
    std::size_t strangers_max = socklnd::kStrangersMax;
    bool any_address = false;  // TcpSettings
    drivers::BusyPoll busy_poll{};
    std::uint32_t relay_bytes_min = 0;
    Duration down_grace{};   // of SockLndConfig
    Duration silence_max{};  // likewise
    std::uint32_t payload_rate_min = 0;
    std::string congestion_control{drivers::TcpCongestion::kAuto};
  };

  [[nodiscard]] static Outcome<std::unique_ptr<TcpHost>> create(const Parts& parts);
  ~TcpHost() override;
  TcpHost(const TcpHost&) = delete;
  TcpHost& operator=(const TcpHost&) = delete;

  // FamilyHost.
  [[nodiscard]] Pollable* on_shard(unsigned shard) override { return places_[shard].get(); }
  void connect(const LnetShard& first, std::span<Doorbell* const> doorbells) override;
  void add_metrics(runtime::Metrics& metrics) override;
  void log_refused_requests(runtime::Log& log) override;
  void say(runtime::Log& log, runtime::OnceLog& bad_input) override;
  [[nodiscard]] std::unique_ptr<FamilyRules> rules() const override;
  [[nodiscard]] std::unique_ptr<NetworkMaker> maker(lnet::NetType type,
                                                    const LndSetup& setup) override;
  // Does nothing if the NI was not opened.
  void close_ni(const lnet::Nid& nid) override;
  [[nodiscard]] bool has_options_of(const lnet::NodeConfig& config) const override;
  void take_options(const lnet::NodeConfig& config) override;
  [[nodiscard]] std::function<void(unsigned shard)> tuning_of(
      const lnet::Nid& nid, std::span<const lnet::LndTunable> in_force) override;
  [[nodiscard]] Outcome<void> tune(lnet::NetId net, lnet::NiConfig& ni,
                                   const lnet::NiChange& change) override;
  void forget_in_force() override { by_link_.clear(); }
  void note_in_force(const lnet::NiConfig& ni,
                     std::span<const lnet::LndTunable> in_force) override {
    by_link_.note(ni, parts_.options.tunables, in_force);
  }
  void look_at_links(LnetDesk& desk, std::span<const lnet::Nid> nis, Instant now,
                     const LinkSaid& said) override {
    links_.look(desk, nis, now, said, [this](unsigned shard, const lnet::Nid& nid, bool up) {
      if (auto* const lnd = place(shard).inbox().lnd(nid)) lnd->set_usable(up);
    });
  }
  [[nodiscard]] Instant look_again_at() const override { return links_.look_again_at(); }
  [[nodiscard]] std::string_view link_trouble_of(const lnet::Nid& nid) const override {
    return links_.cause_of(nid);
  }
  [[nodiscard]] std::string explain_unreachable(const lnet::Nid& peer, Errc trouble) const override;
  void describe(lnet::NiReport& ni) const override;
  void connections(LnetDesk& desk, const lnet::ConnectionQuery& query,
                   lnet::Reply<std::vector<lnet::ConnectionReport>> reply) override;
  void connection_peers(LnetDesk& desk, const lnet::ConnectionQuery& query,
                        lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply) override;

  [[nodiscard]] TcpPlace& place(unsigned shard) { return *places_[shard]; }
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(places_.size()); }
  [[nodiscard]] const ConnectionsByLink& by_link() const { return by_link_; }

  [[nodiscard]] const TcpOptions& options() const { return parts_.options; }
  [[nodiscard]] std::size_t streams_max() const { return parts_.streams_max; }
  [[nodiscard]] std::uint32_t relay_bytes_min() const { return parts_.relay_bytes_min; }
  [[nodiscard]] Duration down_grace() const { return parts_.down_grace; }
  [[nodiscard]] Duration silence_max() const { return parts_.silence_max; }
  [[nodiscard]] std::uint32_t payload_rate_min() const { return parts_.payload_rate_min; }
  // Whether this process may bind ports below 1024.
  [[nodiscard]] bool privileged() const { return privileged_; }
  // The system's error if it refuses busy polling, else "". TCP works without it.
  [[nodiscard]] std::string busy_poll_refusal() const {
    return drivers::busy_poll_refusal(parts_.busy_poll);
  }
  [[nodiscard]] CounterView acceptor_counters() const { return acceptor_.counters(); }

  // Shard 0: listens for connections to this NI. The error names the remedy.
  [[nodiscard]] Outcome<void> open_ni(const lnet::Nid& nid);

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
  [[nodiscard]] socklnd::Room room_for(const socklnd::Arrival& arrival) override;
  void hand_over(const socklnd::Arrival& arrival) override;

  Parts parts_;                       // constant except for the options
  const LnetShard* first_ = nullptr;  // of shard 0; has the node while LNet is up
  const bool privileged_;
  socklnd::LaneExchange lanes_;
  std::vector<std::unique_ptr<TcpPlace>> places_;
  socklnd::Acceptor acceptor_;
  std::vector<Door> doors_;
  AddressLinks links_;
  ConnectionsByLink by_link_;  // as of the last change
  runtime::Metrics* metrics_ = nullptr;
  std::vector<runtime::Metrics::Id> metric_ids_;
  std::optional<lnet::ShardId> home_;  // from room_for() for hand_over()
};

// The address of an NI in the form that sockets take, with port 0.
[[nodiscard]] socklnd::SocketAddress socket_address(const lnet::Nid& nid);
// The addresses at which an NI of this NID accepts connections.
[[nodiscard]] std::vector<socklnd::SocketAddress> listen_addresses(const TcpOptions& options,
                                                                   const lnet::Nid& nid);

}  // namespace plnet::node

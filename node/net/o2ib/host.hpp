// SPDX-License-Identifier: BSD-3-Clause
// o2ib networks of a node: RDMA devices, opened when an NI first needs one and closed with the
// node; the listeners on shard 0; the shards that serve the NIs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/lnet/node/node.hpp"
#include "lib/runtime/admin/metrics.hpp"
#include "node/host/address_links.hpp"
#include "node/host/network_family.hpp"
#include "node/net/o2ib/adapter.hpp"
#include "node/net/o2ib/doors.hpp"
#include "node/net/o2ib/options.hpp"
#include "node/net/o2ib/place.hpp"
#include "node/net/o2ib/seats.hpp"
#include "node/net/o2ib/settings.hpp"
#include "node/net/o2ib/verbs_ports.hpp"

namespace plnet::node {

class O2ibHost final : public FamilyHost,
                       private O2ibHomes,
                       private O2ibEvents,
                       private O2ibAdapters {
 public:
  struct Parts {
    std::vector<std::uint16_t> cpt_of_shard;
    std::vector<unsigned> node_of_cpt;  // NUMA nodes of their memory
    O2ibOptions options;
    O2ibSettings settings;
    O2ibRoom room;
    const ArenaTable* arenas = nullptr;
    O2ibAdapterOpener opener = verbs_adapter_opener();
    std::string sysfs{kSysfs};
  };

  explicit O2ibHost(Parts parts);
  ~O2ibHost() override;
  O2ibHost(const O2ibHost&) = delete;
  O2ibHost& operator=(const O2ibHost&) = delete;

  [[nodiscard]] O2ibPlace& place(unsigned shard) { return *places_[shard]; }
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(places_.size()); }
  [[nodiscard]] const O2ibOptions& options() const { return parts_.options; }
  [[nodiscard]] const std::string& sysfs() const { return parts_.sysfs; }
  [[nodiscard]] const O2ibSettings& settings() const { return parts_.settings; }
  [[nodiscard]] O2ibSeats& seats() { return seats_; }
  [[nodiscard]] O2ibDoors& doors() { return doors_; }
  // Shards that serve an NI on these CPTs; empty: all.
  [[nodiscard]] lnet::ShardSet shards_of(const std::vector<std::uint16_t>& cpts) const;
  // The CPT nearest to a NUMA node: the first one with memory there, or CPT 0.
  [[nodiscard]] std::uint16_t cpt_near(int numa_node) const;
  // The admin thread: the device of this address, opened by the first call, and by the first one
  // after its removal.
  [[nodiscard]] Outcome<void> open_adapter(std::uint32_t address);
  // Any thread. The adapter opened last for the address; null: none.
  [[nodiscard]] O2ibAdapter* adapter(std::uint32_t address) const override;

  // FamilyHost.
  [[nodiscard]] Pollable* on_shard(unsigned shard) override { return places_[shard].get(); }
  void connect(const LnetShard& first, std::span<Doorbell* const> doorbells) override;
  void add_metrics(runtime::Metrics& metrics) override;
  void say(runtime::Log& log, runtime::OnceLog& bad_input) override;
  [[nodiscard]] std::unique_ptr<FamilyRules> rules() const override;
  [[nodiscard]] std::unique_ptr<NetworkMaker> maker(lnet::NetType type,
                                                    const LndSetup& setup) override;
  void close_ni(const lnet::Nid& nid) override;
  [[nodiscard]] bool has_options_of(const lnet::NodeConfig& config) const override;
  void take_options(const lnet::NodeConfig& config) override;
  [[nodiscard]] std::function<void(unsigned shard)> tuning_of(
      const lnet::Nid& nid, std::span<const lnet::LndTunable> in_force) override;
  [[nodiscard]] Outcome<void> tune(lnet::NetId net, lnet::NiConfig& ni,
                                   const lnet::NiChange& change) override;
  [[nodiscard]] bool is_free(lnet::NetId net, const std::string& interface) const override;
  void look_at_links(LnetDesk& desk, std::span<const lnet::Nid> nis, Instant now,
                     const LinkSaid& said) override;
  [[nodiscard]] Instant look_again_at() const override { return links_.look_again_at(); }
  [[nodiscard]] std::string_view link_trouble_of(const lnet::Nid& nid) const override;
  void connections(LnetDesk& desk, const lnet::ConnectionQuery& query,
                   lnet::Reply<std::vector<lnet::ConnectionReport>> reply) override;
  void connection_peers(LnetDesk& desk, const lnet::ConnectionQuery& query,
                        lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply) override;
  void describe(lnet::NiReport& ni) const override;
  void find_counters(unsigned shard, const lnet::Nid& nid,
                     std::vector<runtime::MetricSet>& found) override;

 private:
  static constexpr std::size_t kAdaptersMax = 64;
  struct Opened {
    std::uint32_t address = 0;
    std::unique_ptr<O2ibAdapter> adapter;
    bool removal_told = false;  // admin thread only
  };

  // O2ibEvents.
  unsigned poll_events(Instant now) override;
  [[nodiscard]] bool has_devices() const override;
  // O2ibHomes.
  [[nodiscard]] std::optional<lnet::ShardId> home_of(const lnet::Nid& local,
                                                     const lnet::Nid& peer) override;
  [[nodiscard]] std::optional<lnet::ShardId> any_of(const lnet::Nid& local) override;
  [[nodiscard]] bool bring(lnet::ShardId shard, const O2ibRequest& request, O2ibAdapter& adapter,
                           const lnet::Nid& local) override;

  Parts parts_;                       // constant except for the options
  const LnetShard* first_ = nullptr;  // of shard 0; has the node while LNet is up
  // Devices stay until the end, so they outlive all other members. Other threads read the counted
  // ones.
  std::array<Opened, kAdaptersMax> adapters_;
  std::atomic<std::size_t> adapter_count_{0};
  O2ibSeats seats_;
  O2ibDoors doors_;
  o2iblnd::LaneExchange lanes_;
  std::vector<std::unique_ptr<O2ibPlace>> places_;
  AddressLinks links_;
  runtime::Metrics* metrics_ = nullptr;
  std::vector<runtime::Metrics::Id> metric_ids_;
};

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
// kfi networks of a node: its NICs, opened at start, and the shards that serve them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lib/lnet/node/node.hpp"
#include "lib/runtime/admin/metrics.hpp"
#include "node/host/network_family.hpp"
#include "node/net/kfi/nic.hpp"
#include "node/net/kfi/options.hpp"
#include "node/net/kfi/place.hpp"

namespace plnet::node {

class KfiHost final : public FamilyHost {
 public:
  // The error names the place of the interface in the configuration.
  [[nodiscard]] static Outcome<std::unique_ptr<KfiHost>> create(const FamilyParts& parts);
  KfiHost(const KfiHost&) = delete;
  KfiHost& operator=(const KfiHost&) = delete;

  [[nodiscard]] KfiPlace& place(unsigned shard) { return *places_[shard]; }
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(places_.size()); }
  [[nodiscard]] const KfiOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<std::unique_ptr<KfiNic>>& nics() const { return nics_; }
  // Null: not configured.
  [[nodiscard]] KfiNic* nic(std::string_view name) const;

  // kInvalid: libfabric has fewer receive contexts than a Cassini. The error suggests fewer CPTs.
  [[nodiscard]] Outcome<void> check_cpts(const lnet::NiConfig& ni) const;
  // The shards that serve an NI on these CPTs; an empty list means all.
  [[nodiscard]] lnet::ShardSet shards_of(const std::vector<std::uint16_t>& cpts) const;

  // FamilyHost.
  [[nodiscard]] Pollable* on_shard(unsigned shard) override { return places_[shard].get(); }
  void add_metrics(runtime::Metrics& metrics) override;
  void say(runtime::Log& log, runtime::OnceLog& bad_input) override;
  // Reads the links and addresses of the NICs, perhaps from files of the system.
  void look_at_devices() override {
    if (vendor_ != nullptr) vendor_->refresh();
  }
  [[nodiscard]] Outcome<void> assign_nid(lnet::NetId net, lnet::NiConfig& ni) const override;
  [[nodiscard]] Outcome<void> check_together(const lnet::NodeConfig& config) const override;
  [[nodiscard]] std::unique_ptr<FamilyRules> rules() const override;
  [[nodiscard]] std::unique_ptr<NetworkMaker> maker(lnet::NetType type,
                                                    const LndSetup& setup) override;
  [[nodiscard]] bool may_move() const override { return !nics_.empty(); }
  [[nodiscard]] std::optional<lnet::Nid> nid_now(lnet::NetId net,
                                                 const lnet::NiConfig& ni) const override;
  [[nodiscard]] bool is_free(lnet::NetId net, const std::string& interface) const override;
  void describe(lnet::NiReport& ni) const override;
  void find_counters(unsigned shard, const lnet::Nid& nid,
                     std::vector<runtime::MetricSet>& found) override;

 private:
  KfiHost() = default;

  KfiOptions options_;
  std::vector<std::uint16_t> cpt_of_shard_;
  std::vector<std::unique_ptr<KfiPlace>> places_;
  std::unique_ptr<cassini::Backend> vendor_;  // null: no interface needs it
  std::vector<std::unique_ptr<KfiNic>> nics_;
};

}  // namespace plnet::node

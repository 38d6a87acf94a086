// SPDX-License-Identifier: BSD-3-Clause
// kfi networks of a node: its NICs, opened at start, and the shards that serve them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "apps/assembly/kfi_nic.hpp"
#include "apps/assembly/kfi_options.hpp"
#include "apps/assembly/kfi_place.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/runtime/admin/metrics.hpp"

namespace plnet::apps {

class Machine;

class KfiHost {
 public:
  // The machine outlives it. What fails says where it was configured.
  [[nodiscard]] static Outcome<std::unique_ptr<KfiHost>> create(const runtime::Settings& settings,
                                                                Machine& machine);
  KfiHost(const KfiHost&) = delete;
  KfiHost& operator=(const KfiHost&) = delete;

  [[nodiscard]] KfiPlace& place(unsigned shard) { return *places_[shard]; }
  [[nodiscard]] unsigned shards() const { return static_cast<unsigned>(places_.size()); }
  [[nodiscard]] const KfiOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<std::unique_ptr<KfiNic>>& nics() const { return nics_; }
  // Null: not configured.
  [[nodiscard]] KfiNic* nic(std::string_view name) const;

  // kInvalid, with what to write instead: libfabric has fewer receive contexts than a Cassini.
  [[nodiscard]] Outcome<void> check_cpts(const lnet::NiConfig& ni) const;
  // Which shards serve an NI on these CPTs; empty: on all.
  [[nodiscard]] lnet::ShardSet shards_of(const std::vector<std::uint16_t>& cpts) const;
  // Gives an NI of a kfi network the NID of its interface, which has to be there. The admin thread.
  [[nodiscard]] Outcome<void> assign_nid(lnet::NetId net, lnet::NiConfig& ni) const;
  // Whether NIs can share interfaces as is asked for.
  [[nodiscard]] Outcome<void> check_sharing(const lnet::NodeConfig& config) const;

  // The admin thread, every second or so, as it may read files of the system: what the links of the
  // NICs are now, and their addresses.
  void look_at_links() const {
    if (vendor_ != nullptr) vendor_->refresh();
  }

  // The admin thread: what the retry handlers of NICs in software have given up.
  void say_retries(runtime::Log& log) const;
  // What the NICs in software and their ports count, until `metrics` are gone.
  void add_metrics(runtime::Metrics& metrics) const;

 private:
  KfiHost() = default;

  KfiOptions options_;
  std::vector<std::uint16_t> cpt_of_shard_;
  std::vector<std::unique_ptr<KfiPlace>> places_;
  std::unique_ptr<cassini::Backend> vendor_;  // null: no interface needs it
  std::vector<std::unique_ptr<KfiNic>> nics_;
};

}  // namespace plnet::apps

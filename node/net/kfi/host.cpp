// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/host.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "drivers/net/cassini/backend_libcxi.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/host/machine.hpp"
#include "node/net/kfi/maker.hpp"
#include "node/net/kfi/room.hpp"
#include "node/net/kfi/rules.hpp"

namespace plnet::node {
namespace {

using lnet::NiConfig;
using lnet::Nid;

Outcome<std::unique_ptr<cassini::Backend>> load_vendor(const KfiSettings& settings) {
  const auto needs =
      std::ranges::find(settings.interfaces, KfiBackend::kLibcxi, &KfiInterface::backend);
  if (needs == settings.interfaces.end()) return nullptr;
  auto loaded = cassini::LibcxiBackend::load(settings.library);
  if (loaded) return std::move(*loaded);
  const std::string& place = needs->origin.place;
  return failure(loaded.error().code,
                 fmt::format("{}{}kfi interface {}: {}", place, place.empty() ? "" : ": ",
                             needs->name, loaded.error().what));
}

std::string names_of(const std::vector<std::unique_ptr<KfiNic>>& nics) {
  std::string names;
  for (const auto& nic : nics)
    names += (names.empty() ? "" : ", ") + nic->name();
  return names;
}

}  // namespace

Outcome<std::unique_ptr<KfiHost>> KfiHost::create(const FamilyParts& parts) {
  const runtime::Settings& settings = parts.settings;
  std::unique_ptr<KfiHost> host(new KfiHost());
  auto options = kfi_options_of(settings.lnet);
  if (!options) return std::unexpected(options.error());
  host->options_ = *options;
  auto memory = kfi_memory_of(settings);
  if (!memory) return std::unexpected(memory.error());
  host->cpt_of_shard_ = parts.machine.cpt_of_shard();
  for (std::size_t shard = 0; shard < host->cpt_of_shard_.size(); ++shard)
    host->places_.push_back(std::make_unique<KfiPlace>());
  const auto& own = settings.sections.of<KfiSettings>();
  auto vendor = load_vendor(own);
  if (!vendor) return std::unexpected(vendor.error());
  host->vendor_ = std::move(*vendor);
  for (std::size_t i = 0; i < own.interfaces.size(); ++i) {
    KfiMemory& receive = (*memory)[i];
    receive.arena = parts.arenas[i];
    // Interfaces may have got addresses since the arena was sized, so more NIs may be configured
    // now.
    const std::size_t room = parts.machine.arenas().arena(receive.arena).size / receive.bytes_each;
    receive.nis = std::min(receive.nis, static_cast<unsigned>(room));
    auto nic = KfiNic::open(own.interfaces[i], receive, host->vendor_.get(), parts.machine.eal());
    if (!nic) return std::unexpected(nic.error());
    host->nics_.push_back(std::move(*nic));
  }
  for (const auto& place : host->places_)
    place->set_nics(host->nics_);
  return host;
}

KfiNic* KfiHost::nic(std::string_view name) const {
  const auto found =
      std::ranges::find_if(nics_, [&](const auto& nic) { return nic->name() == name; });
  return found == nics_.end() ? nullptr : found->get();
}

lnet::ShardSet KfiHost::shards_of(const std::vector<std::uint16_t>& cpts) const {
  lnet::ShardSet shards;
  for (std::size_t i = 0; i < cpt_of_shard_.size(); ++i)
    shards[i] = cpts.empty() || std::ranges::find(cpts, cpt_of_shard_[i]) != cpts.end();
  return shards;
}

Outcome<void> KfiHost::check_cpts(const NiConfig& ni) const {
  if (nic(ni.interfaces.front())->settings().backend != KfiBackend::kOfi) return {};
  const auto shards = shards_of(ni.cpts).count();
  if (shards <= ofi_contexts_max()) return {};
  return failure(Errc::kInvalid,
                 fmt::format("interface {}: {} shards would serve it, expected at most {} with "
                             "libfabric: `CPT: \"[…]\"` of the NI (`net add --cpt …`) takes fewer",
                             ni.interfaces.front(), shards, ofi_contexts_max()));
}

Outcome<void> KfiHost::assign_nid(lnet::NetId net, NiConfig& ni) const {
  const std::string name = lnet::text_of_net(net);
  if (ni.interfaces.size() != 1) {
    return failure(Errc::kInvalid,
                   fmt::format("network {}: expected one interface, such as cxi0", name));
  }
  KfiNic* const there = nic(ni.interfaces.front());
  if (there == nullptr) {
    return failure(
        Errc::kNotFound,
        fmt::format("network {}: interface {} is not among those of `plnet: kfi: interfaces`: {}",
                    name, ni.interfaces.front(),
                    nics_.empty() ? "there are none" : names_of(nics_)));
  }
  if (ni.nid) return {};  // a configured NID stays, like that of an IP interface
  const auto address = there->address();
  if (!address) return std::unexpected(address.error());
  ni.nid = Nid::of(lnet::NetType::kKfi, lnet::number_of_net(net), *address);
  return {};
}

Outcome<void> KfiHost::check_together(const lnet::NodeConfig& config) const {
  return check_kfi_sharing(config, [this](const std::string& interface) {
    const KfiNic* const there = nic(interface);
    return there == nullptr ? 0 : there->memory().nis;
  });
}

void KfiHost::say(runtime::Log& log, runtime::OnceLog& /*bad_input*/) {
  for (const auto& nic : nics_)
    nic->retry_lines().say(nic->name(), log);
}

std::unique_ptr<FamilyRules> KfiHost::rules() const {
  return std::make_unique<KfiRules>(*this);
}

std::unique_ptr<NetworkMaker> KfiHost::maker(lnet::NetType /*type*/, const LndSetup& setup) {
  return make_kfi_maker(setup, *this);
}

std::optional<Nid> KfiHost::nid_now(lnet::NetId net, const NiConfig& ni) const {
  if (ni.interfaces.size() != 1) return std::nullopt;
  KfiNic* const there = nic(ni.interfaces.front());
  const auto address = there == nullptr ? std::nullopt : there->settled_address();
  if (!address) return std::nullopt;
  return Nid::of(lnet::NetType::kKfi, lnet::number_of_net(net), *address);
}

bool KfiHost::is_free(lnet::NetId net, const std::string& interface) const {
  const KfiNic* const there = nic(interface);
  return there != nullptr && there->is_free(kfi_process_of(net));
}

void KfiHost::describe(lnet::NiReport& ni) const {
  ni.driver = "kkfilnd";
  if (const auto own = options_of_ni(options_, ni.lnd_tunables))
    ni.parameters = parameters_of(*own);
}

void KfiHost::find_counters(unsigned shard, const Nid& nid,
                            std::vector<runtime::MetricSet>& found) {
  KfiNi* const there = place(shard).ni(nid);
  if (there == nullptr) return;
  found.push_back({.object = there->context().is_cassini() ? "cassini" : "ofi",
                   .labels = {{"nid", text_of(nid)}, {"shard", std::to_string(shard)}},
                   .view = there->context().driver().counters()});
}

void KfiHost::add_metrics(runtime::Metrics& metrics) {
  for (const auto& nic : nics_) {
    auto* const soft = nic->soft();
    if (soft == nullptr) continue;
    const std::vector<runtime::MetricLabel> labels{{"interface", nic->name()}};
    (void)metrics.add("cassini_soft", labels, soft->node().nic().counters());
    (void)metrics.add("cassini_packets", labels, soft->node().port().counters());
    (void)metrics.add("cassini_link", labels, soft->wire().counters());
    (void)metrics.add("cassini_retry", labels, soft->node().port().retry_handler().counters());
    (void)metrics.add("cassini_retry_lines", labels, nic->retry_lines().counters());
  }
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/host.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/o2iblnd/request_home.hpp"
#include "lib/runtime/admin/log.hpp"
#include "node/host/lnet_shard.hpp"
#include "node/net/o2ib/maker.hpp"
#include "node/net/o2ib/reports.hpp"
#include "node/net/o2ib/rules.hpp"

namespace plnet::node {

using lnet::NiConfig;
using lnet::Nid;

namespace {

constexpr runtime::LogSite kDeviceRemoved{
    runtime::LogLevel::kWarning, "device_removed", {"device", "address", "then"}};
constexpr const char* kAfterRemoval =
    "when `rdma link` lists a device again: `lnetctl net del` and `lnetctl net add` of its NIs";
constexpr std::string_view kRemoved =
    "its RDMA device was removed: `lnetctl net del` and `net add` when there is one again";

}  // namespace

O2ibHost::O2ibHost(Parts parts)
    : parts_(std::move(parts)), seats_(parts_.room), doors_(*this), lanes_(parts_.cpt_of_shard) {
  for (unsigned shard = 0; shard < parts_.cpt_of_shard.size(); ++shard) {
    places_.push_back(std::make_unique<O2ibPlace>());
    places_.back()->set_lanes(lanes_.end(shard), *this);
  }
  places_[0]->set_doors(doors_, *this);
}

O2ibHost::~O2ibHost() {
  for (const auto id : metric_ids_)
    metrics_->remove(id);
  PLNET_CHECK(doors_.empty(), "NIs are destroyed before their devices");
}

lnet::ShardSet O2ibHost::shards_of(const std::vector<std::uint16_t>& cpts) const {
  lnet::ShardSet shards;
  for (std::size_t i = 0; i < parts_.cpt_of_shard.size(); ++i)
    shards[i] = cpts.empty() || std::ranges::find(cpts, parts_.cpt_of_shard[i]) != cpts.end();
  return shards;
}

std::uint16_t O2ibHost::cpt_near(int numa_node) const {
  if (numa_node < 0) return 0;
  const auto found = std::ranges::find(parts_.node_of_cpt, static_cast<unsigned>(numa_node));
  if (found == parts_.node_of_cpt.end()) return 0;
  return static_cast<std::uint16_t>(found - parts_.node_of_cpt.begin());
}

Outcome<void> O2ibHost::open_adapter(std::uint32_t address) {
  if (const O2ibAdapter* const there = adapter(address); there != nullptr && !there->is_gone())
    return {};
  const std::size_t count = adapter_count_.load(std::memory_order_relaxed);
  if (count == kAdaptersMax)
    return failure(Errc::kNoSpace, fmt::format("{} addresses had devices already", count));
  auto opened = parts_.opener(address, *parts_.arenas);
  if (!opened) return std::unexpected(std::move(opened.error()));
  adapters_[count] = {.address = address, .adapter = std::move(*opened)};
  adapter_count_.store(count + 1, std::memory_order_release);
  return {};
}

bool O2ibHost::has_devices() const {
  const auto opened = std::span(adapters_).first(adapter_count_.load(std::memory_order_acquire));
  return std::ranges::any_of(opened, [](const Opened& each) { return !each.adapter->is_gone(); });
}

unsigned O2ibHost::poll_events(Instant now) {
  unsigned work = 0;
  const auto opened = std::span(adapters_).first(adapter_count_.load(std::memory_order_acquire));
  for (const Opened& each : opened)
    work += each.adapter->poll_events(now);
  return work;
}

O2ibAdapter* O2ibHost::adapter(std::uint32_t address) const {
  const auto opened = std::span(adapters_).first(adapter_count_.load(std::memory_order_acquire));
  const auto found = std::find_if(opened.rbegin(), opened.rend(), [address](const Opened& each) {
    return each.address == address;
  });
  return found == opened.rend() ? nullptr : found->adapter.get();
}

void O2ibHost::connect(const LnetShard& first, std::span<Doorbell* const> doorbells) {
  first_ = &first;
  for (std::size_t shard = 0; shard < places_.size(); ++shard)
    places_[shard]->set_doorbell(*doorbells[shard]);
  lanes_.set_doorbells(doorbells);
}

void O2ibHost::add_metrics(runtime::Metrics& metrics) {
  metrics_ = &metrics;
  for (unsigned i = 0; i < shards(); ++i) {
    const std::vector<runtime::MetricLabel> labels{{"shard", std::to_string(i)}};
    metric_ids_.push_back(metrics.add("o2ib_place", labels, place(i).counters()));
    metric_ids_.push_back(metrics.add("o2ib_complaint", labels, place(i).complaints().counters()));
  }
  metric_ids_.push_back(metrics.add("o2ib_door", {}, doors_.counters()));
}

void O2ibHost::say(runtime::Log& log, runtime::OnceLog& bad_input) {
  for (const auto& place : places_)
    place->complaints().say(bad_input);
  for (Opened& each : std::span(adapters_).first(adapter_count_.load())) {
    each.adapter->look_at_removal();
    if (!each.adapter->is_gone() || std::exchange(each.removal_told, true)) continue;
    log.write(kDeviceRemoved, {each.adapter->name(), ipv4_text(each.address), kAfterRemoval});
  }
}

// Causes of the link first: a device often disappears with its interface.
std::string_view O2ibHost::link_trouble_of(const Nid& nid) const {
  if (const std::string_view cause = links_.cause_of(nid); !cause.empty()) return cause;
  const O2ibAdapter* const there = adapter(nid.address32());
  return there != nullptr && there->is_gone() ? kRemoved : std::string_view{};
}

std::unique_ptr<FamilyRules> O2ibHost::rules() const {
  // Rules open devices, on behalf of the host's owner.
  return std::make_unique<O2ibRules>(parts_.options, const_cast<O2ibHost*>(this));
}

std::unique_ptr<NetworkMaker> O2ibHost::maker(lnet::NetType /*type*/, const LndSetup& setup) {
  return make_o2ib_maker(setup, *this);
}

void O2ibHost::close_ni(const Nid& nid) {
  doors_.close(nid);
  seats_.set_leaving(nid);
}

bool O2ibHost::has_options_of(const lnet::NodeConfig& config) const {
  const auto options = o2ib_options_of(config);
  return options && *options == parts_.options;
}

// Called while no NI is being made or opened, since shards read the options then.
void O2ibHost::take_options(const lnet::NodeConfig& config) {
  if (const auto options = o2ib_options_of(config)) parts_.options = *options;
}

std::function<void(unsigned shard)> O2ibHost::tuning_of(
    const Nid& nid, std::span<const lnet::LndTunable> in_force) {
  const auto tunables = o2ib_tunables_of_ni(parts_.options.tunables, in_force);
  return [this, nid, tunables](unsigned shard) {
    if (O2ibNi* const ni = place(shard).ni(nid)) ni->set_tunables(tunables);
  };
}

Outcome<void> O2ibHost::tune(lnet::NetId /*net*/, NiConfig& ni, const lnet::NiChange& change) {
  if (change.connections_per_peer)
    set_lnd_tunable(ni, "conns_per_peer", *change.connections_per_peer);
  if (change.lnd_timeout_s) set_lnd_tunable(ni, "timeout", *change.lnd_timeout_s);
  return {};
}

bool O2ibHost::is_free(lnet::NetId /*net*/, const std::string& /*interface*/) const {
  return !seats_.has_leaving();
}

void O2ibHost::describe(lnet::NiReport& ni) const {
  ni.driver = "ko2iblnd";
  O2ibOptions options = parts_.options;
  options.tunables = o2ib_tunables_of_ni(options.tunables, ni.lnd_tunables);
  ni.parameters = o2ib_parameters(options);
}

void O2ibHost::find_counters(unsigned shard, const Nid& nid,
                             std::vector<runtime::MetricSet>& found) {
  O2ibNi* const there = place(shard).ni(nid);
  if (there == nullptr) return;
  const o2iblnd::VerbsDriver& driver = there->pairs().driver();
  const std::vector<runtime::MetricLabel> labels{{"nid", text_of(nid)},
                                                 {"shard", std::to_string(shard)}};
  found.push_back({.object = "mlx", .labels = labels, .view = driver.counters()});
  const CounterView mapping = driver.mapping_counters();
  if (!mapping.values.empty())
    found.push_back({.object = "mlx_map", .labels = labels, .view = mapping});
}

void O2ibHost::look_at_links(LnetDesk& desk, std::span<const Nid> nis, Instant now,
                             const LinkSaid& said) {
  links_.look(desk, nis, now, said, [this](unsigned shard, const Nid& nid, bool up) {
    if (O2ibNi* const ni = place(shard).ni(nid)) ni->set_link(up);
  });
}

void O2ibHost::connections(LnetDesk& desk, const lnet::ConnectionQuery& query,
                           lnet::Reply<std::vector<lnet::ConnectionReport>> reply) {
  report_o2ib_connections(desk, *this, query, std::move(reply));
}

void O2ibHost::connection_peers(LnetDesk& desk, const lnet::ConnectionQuery& query,
                                lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply) {
  report_o2ib_peers(desk, *this, query, std::move(reply));
}

std::optional<lnet::ShardId> O2ibHost::any_of(const Nid& local) {
  lnet::Node* const node = first_ == nullptr ? nullptr : first_->node_owner();
  const lnet::Ni* const ni = node == nullptr ? nullptr : node->coordinator().local().ni(local);
  if (ni == nullptr || !ni->plugged.get()) return std::nullopt;
  return lnet::lane_shard(ni->shards, 0, 0, node->shards());
}

std::optional<lnet::ShardId> O2ibHost::home_of(const Nid& local, const Nid& peer) {
  const auto any = any_of(local);
  if (!any) return std::nullopt;
  lnet::Node& node = *first_->node_owner();
  // The NI checks again, counts and rejects; the sender need not become a peer for that.
  if (lnet::will_refuse(node.shared(), {peer, local})) return any;
  return o2iblnd::home_of_request(node, local, peer);
}

bool O2ibHost::bring(lnet::ShardId shard, const O2ibRequest& request, O2ibAdapter& adapter,
                     const Nid& local) {
  return places_[shard]->bring({.request = request, .adapter = &adapter, .local = local});
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/site/site.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/lnet/paths/health_rules.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kStep = std::chrono::milliseconds(10);
// A shard that repeatedly reports work that does not exist would keep a CPU from sleeping. Some
// turns without work result from deadlines that are set too early.
constexpr std::uint64_t kVainTurnsMax = 100;
// Each host's arena begins at a multiple of 16 MiB of address space.
constexpr std::uint64_t kArenaGranule = 1U << 24U;

// Memory for the messages of the LNDs.
std::uint64_t lnd_bytes(const SiteConfig& config) {
  const Layout layout(config);
  std::uint64_t bytes = 0;
  for (std::uint32_t node = 0; node < config.nodes; ++node) {
    const NetLimits limits{.shards = layout.shards_of(node), .shards_max = layout.shards_max()};
    for (const unsigned net : layout.group_of(node).nets) {
      const NetPlan& plan = config.nets[net];
      if (!traits_of(plan.kind).is_lazy) continue;
      bytes += plan.interfaces *
               memory_bytes({.plan = &plan, .peers = layout.peer_nis(node, net)}, limits);
    }
  }
  return bytes;
}

std::uint64_t address_space(const SiteConfig& config) {
  const TrafficPlan& plan = config.traffic;
  const std::uint64_t slots =
      1100 + 4ULL * (plan.window + 16U) + std::min<std::uint64_t>(config.nodes, 1000) * 8;
  const std::uint64_t host = slots * (plan.size_max + 64ULL) + (64ULL << 20U);
  std::uint64_t routers = 0;
  for (const GroupPlan& group : config.groups) {
    const BufferCounts more{{1, 1, 1}};  // each shard has at least one
    const std::uint64_t least = RouterMemory::bytes(more) * Layout(config).shards_max();
    if (group.router) routers += group.nodes * (RouterMemory::bytes(group.buffers) + least);
  }
  return config.nodes * ((host / kArenaGranule + 1) * kArenaGranule) + routers + lnd_bytes(config);
}

// Such a site loses no message, and every message has a destination.
bool loses_nothing(const SiteConfig& config) {
  const TrafficPlan& traffic = config.traffic;
  FaultPlan others = config.faults;
  others.drains = 0;
  others.outage = FaultPlan{}.outage;
  others.outage_max = FaultPlan{}.outage_max;
  return others == FaultPlan{} && config.weather != Weather::kHostile &&
         traffic.put_wildcard + traffic.put_unique + traffic.put_lazy == 0 &&
         traffic.abandon_percent + traffic.unlink_percent == 0 &&
         std::ranges::all_of(config.nets, [](const NetPlan& net) { return net.faults.count == 0; });
}

// Ignores nodes that lose power.
bool fails_only_by_kills(const SiteConfig& config) {
  SiteConfig without = config;
  without.faults.kills = without.faults.router_kills = 0;
  return loses_nothing(without);
}

// Users of a gateway check it once in an interval, at visits a second apart; TCP has retried by
// then, after as long again as the node was off.
Duration stale_for(const SiteConfig& config) {
  return std::chrono::seconds(config.gateways.check_interval_s + 1) +
         config.faults.longest_outage();
}

// The longest time that an LND tries to send a message on a disturbed path; the core gives it no
// longer.
Duration message_lasts(const SiteConfig& config) {
  return message_deadline({}, std::chrono::seconds(config.lnd_timeout_s), Parameters{})
      .time_since_epoch();
}

// The record of a GET is free when it ends, that of a PUT when it is delivered.
std::size_t ledger_size(const SiteConfig& config) {
  const TrafficPlan& traffic = config.traffic;
  const bool only_gets =
      traffic.put_wildcard + traffic.put_unique + traffic.put_lazy + traffic.put_managed == 0;
  if (only_gets && traffic.get > 0) {
    return std::size_t{config.nodes} * (traffic.window * Layout(config).shards_max() + 2) + 16;
  }
  const std::uint64_t all =
      std::uint64_t{config.nodes} * config.traffic.operations * (1 + config.faults.kills) + 16 +
      config.nodes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(all, 1U << 20U));
}

}  // namespace

Site::Site(const SiteConfig& config)
    : config_(config),
      layout_(config_),
      shape_(config.shape()),
      lazy_(drivers::LazyMemory::reserve(address_space(config)).value()),
      loop_(config.seed),
      network_(loop_, shape_.link, config.seed),
      streams_(network_, shape_.stream, config.seed),
      verbs_(network_, shape_.verbs, config.seed),
      ledger_(ledger_size(config), [this](std::uint64_t fact) { loop_.note(fact); }),
      random_(Random(config.seed).fork("faults")),
      cuts_(network_) {
  network_.set_lazy_memory(*lazy_);
  world_ = std::make_unique<World>(World{.config = config_,
                                         .layout = layout_,
                                         .loop = loop_,
                                         .wires = {network_, streams_, verbs_, *lazy_},
                                         .networks = {},
                                         .ledger = ledger_,
                                         .drains = DrainWatch(config.nodes, message_lasts(config)),
                                         .trails = Trails(ledger_, config.nodes, stale_for(config)),
                                         .hosts = {},
                                         .counts = {}});
  for (const NetPlan& net : config_.nets)
    world_->networks.push_back(make_network(net.kind, world_->wires));
  world_->hosts.reserve(config.nodes);
  for (std::uint32_t i = 0; i < config.nodes; ++i)
    world_->hosts.push_back(std::make_unique<Host>(*world_, i));
  routes_.emplace(*world_, cuts_);
  if (fails_only_by_kills(config_)) world_->trails.watch_failures();
  troubled_.resize(config.nodes);
  if (layout_.has_routers()) mishaps_.emplace(*world_);
}

Site::~Site() {
  for (const auto& host : world_->hosts) {
    if (host->gone() && host->state() != Host::State::kOff) {
      host->destroy();
    } else if (host->state() != Host::State::kOff) {
      host->abandon();
    }
  }
}

void Site::start() {
  for (const auto& host : world_->hosts)
    host->start();
}

void Site::run_for(Duration span) {
  const drivers::RunResult result = loop_.run_for(span);
  if (result.end == drivers::RunEnd::kStuck || result.end == drivers::RunEnd::kEventLimit) {
    ledger_.violate("time does not move on: a livelock");
  }
  if (mishaps_) mishaps_->look(loop_.now());
}

void Site::begin_faults() {
  schedule_faults();
  begin_looking();
}

SiteReport Site::run() {
  start();
  begin_faults();
  const auto traffic_over = [this] {
    return std::ranges::all_of(world_->hosts, [this](const auto& host) {
      if (host->state() != Host::State::kUp) return false;
      for (unsigned shard = 0; shard < host->shards(); ++shard) {
        if (host->program(shard).left() > 0) return false;
      }
      return ledger_.open() == 0;
    });
  };
  const Instant end = loop_.now() + config_.time;
  // With gateways, detection of their outages is checked while they last.
  const auto outages_over = [this] {
    return !layout_.has_routers() || loop_.now() >= outages_end_;
  };
  while (!ledger_.violated() && (loop_.now() < end || !traffic_over() || !outages_over()) &&
         loop_.now() < end + std::chrono::minutes(5)) {
    run_for(loop_.now() < end ? std::min(kStep, end - loop_.now()) : kStep);
  }
  if (!ledger_.violated()) quiesce();
  return report();
}

bool Site::run_until(const std::function<bool()>& done, Duration limit) {
  const Instant end = loop_.now() + limit;
  while (!ledger_.violated() && loop_.now() < end) {
    if (done()) return true;
    run_for(kStep);
  }
  return !ledger_.violated() && done();
}

// --- The end of a run ---

void Site::quiesce() {
  world_->stopping = true;
  heal();
  const auto all = [this](bool (*holds)(const Host&)) {
    return [this, holds] {
      return std::ranges::all_of(world_->hosts, [holds](const auto& host) { return holds(*host); });
    };
  };
  const Duration bound = std::chrono::seconds(2 * config_.transaction_timeout_s + 60);
  if (!run_until([this] { return ledger_.open() == 0; }, bound) && !ledger_.violated()) {
    return ledger_.violate("did not end: " + describe(ledger_, *ledger_.oldest()));
  }
  // Waits for messages that are under way.
  (void)run_until(all([](const Host& host) { return host.quiet(); }), std::chrono::seconds(10));
  if (layout_.has_routers()) await_routers();
  if (!ledger_.violated()) await_traffic();
  if (!ledger_.violated() && config_.weather != Weather::kHostile) await_health();
  if (ledger_.violated()) return;
  for (const auto& host : world_->hosts) {
    if (host->state() == Host::State::kUp) host->retire();
  }
  const bool over = run_until(
      all([](const Host& host) { return host.state() != Host::State::kDying && host.gone(); }),
      bound);
  if (ledger_.violated()) return;
  for (const auto& host : world_->hosts) {
    const std::string missing = host->what_is_missing();
    if (!missing.empty()) return ledger_.violate("not home at the end: " + missing);
    const std::string wrong = host->what_is_unbalanced();
    if (!wrong.empty()) return ledger_.violate("mismatched counts at the end: " + wrong);
    if (!host->gone()) return ledger_.violate(fmt::format("node {} is not quiet", host->number()));
    if (const std::uint64_t vain = host->vain_turns_max(); vain > kVainTurnsMax) {
      return ledger_.violate(
          fmt::format("node {} spins: {} turns in a row without work", host->number(), vain));
    }
  }
  if (!over) return ledger_.violate("the site does not come to rest");
  check_balance();
}

// While all nodes still run: at their end they would return these objects anyway.
void Site::await_routers() {
  std::string held;
  const auto is_home = [&] {
    for (const auto& host : world_->hosts) {
      held = host->state() == Host::State::kUp ? host->what_routing_holds() : "";
      if (!held.empty()) return false;
      for (const Nid& nid : host->nids()) {
        if (!host->is_link_held(nid)) continue;
        held = fmt::format("node {} holds a link down that is up", host->number());
        return false;
      }
      if (host->is_router() && !host->is_forwarding()) {
        held = fmt::format("node {} does not route again", host->number());
        return false;
      }
    }
    return true;
  };
  const Duration bound = std::chrono::seconds(2 * config_.transaction_timeout_s);
  if (!run_until(is_home, bound))
    return ledger_.violate("not returned although all faults have ended: " + held);
  if (looking_) await_routes();
  watching_routes_ = false;
}

// Waits until each route has been right for its bound. While connections break randomly that may
// never happen; then one moment at which all routes are right is enough.
void Site::await_routes() {
  if (!routes_) return;
  const auto are_right = [&] { return routes_->wrong().empty(); };
  const auto stay_right = [&] { return are_right() && routes_->is_settled(); };
  routes_->look(loop_.now());
  if (run_until(stay_right, routes_->patience())) return;
  if (!run_until(are_right, routes_->patience())) {
    ledger_.violate("not right although all faults have ended: " + routes_->wrong());
  }
}

// All earlier operations have ended, and these figures are those of the run.
void Site::await_traffic() {
  traffic_ = ledger_.tally();
  traffic_->silent = ledger_.never_delivered();
  const auto all_up = [this] {
    return std::ranges::all_of(world_->hosts,
                               [](const auto& host) { return host->state() == Host::State::kUp; });
  };
  if (!run_until(all_up, config_.faults.longest_outage() + std::chrono::minutes(1)))
    return ledger_.violate("not all nodes are up although all faults have ended");
  world_->after = std::make_unique<After>(*world_, loses_nothing(config_));
  After& after = *world_->after;
  if (const std::string what = after.begin(loop_.now()); !what.empty()) {
    return ledger_.violate("no traffic although all faults have ended: " + what);
  }
  const auto over = [&] {
    after.step(loop_.now());
    return after.over() || !after.wrong().empty();
  };
  if (!run_until(over, after.patience()))
    return ledger_.violate("no traffic although all faults have ended: " + after.missing());
  if (!after.wrong().empty())
    ledger_.violate("failed although all faults have ended: " + after.wrong());
}

// Waits until health has recovered, without other messages than those of recovery. While
// connections break randomly, some interface is always below full health.
void Site::await_health() {
  std::string ill;
  const auto all_well = [&] {
    for (const auto& host : world_->hosts) {
      ill = host->unhealthy_interface();
      if (!ill.empty()) return false;
    }
    return true;
  };
  // The longest interval between two pings; each restores a tenth.
  const Duration bound = PeerRecovery::kHopIntervalMax + std::chrono::minutes(1);
  if (!run_until(all_well, bound))
    ledger_.violate("not well although all faults have ended: " + ill);
}

void Site::check_balance() {
  const WireTally& wire = world_->wire;
  const std::uint64_t ends =
      wire.received + wire.receive_failed + wire.dropped + wire.rejected + wire.gone;
  if (ends != wire.offered) {
    return ledger_.violate(fmt::format("{} messages arrived, {} ended", wire.offered, ends));
  }
  if (wire.quarantined != wire.released) {
    return ledger_.violate(
        fmt::format("{} messages in quarantine, {} came out", wire.quarantined, wire.released));
  }
  if (wire.relayed_twice > 0) {
    return ledger_.violate("a message went through a router twice");
  }
  const SiteReport now = report();
  const std::uint64_t failed = now.operations.failed + now.operations.silent;
  if (loses_nothing(config_) && failed > 0) {
    return ledger_.violate(fmt::format("{} operations failed, and the only faults were {} drains",
                                       failed, now.drains.begun));
  }
  if (const std::string wrong = what_is_wrong(now.net_counts); !wrong.empty()) {
    return ledger_.violate(wrong);
  }
  if (const std::string broken = what_breaks_the_protocol(now); !broken.empty()) {
    return ledger_.violate(broken);
  }
  std::vector<std::uint64_t> forward_failed;
  for (const auto& host : world_->hosts)
    forward_failed.push_back(host->counted(Cause::kForwardFailed));
  if (const std::string lost = world_->trails.without_cause(forward_failed); !lost.empty()) {
    return ledger_.violate("lost without a cause: " + lost);
  }
  const std::string& elsewhere = world_->trails.failed_elsewhere();
  if (!elsewhere.empty()) {
    return ledger_.violate("failed, and did not pass a node that lost power: " + elsewhere);
  }
}

// All nodes are correct and no fault corrupts a byte, so no LND or core may reject a message.
std::string Site::what_breaks_the_protocol(const SiteReport& now) const {
  for (const auto& host : world_->hosts) {
    if (const std::uint64_t count = host->protocol_errors(); count > 0)
      return fmt::format("{} protocol errors of correct peers at node {}", count, host->number());
  }
  for (const auto& [name, count] : now.causes) {
    if (name.starts_with("rejected"))
      return fmt::format("{} messages of correct nodes were rejected: {}", count, name);
  }
  return {};
}

SiteReport Site::report() const {
  SiteReport report;
  report.violation = ledger_.violation();
  report.trace = loop_.digest();
  report.events = loop_.events_run();
  report.time = loop_.now().time_since_epoch();
  report.operations = traffic_.value_or(ledger_.tally());
  if (!traffic_) report.operations.silent = ledger_.never_delivered();
  report.failed_after = world_->after ? world_->after->failed() : 0;
  report.wire = world_->wire;
  report.bytes_handed_on = streams_.bytes_handed_on();
  report.kills = kills_;
  report.flaps = flaps_;
  report.drains = drains_;
  if (mishaps_) report.mishaps = mishaps_->tally();
  report.peers_deleted = peers_deleted_;
  report.moves = moves_;
  report.nack_storms = storms_;
  report.net_counts = world_->counts;
  for (std::size_t i = 0; routes_ && i < kRouteTruths; ++i) {
    report.routes_wrong[i] = routes_->longest(static_cast<RouteTruth>(i));
    report.routes_outlasted[i] = routes_->outlasted(static_cast<RouteTruth>(i));
  }
  for (std::size_t i = 0; i < LnetCauses::kInfo.size(); ++i) {
    std::uint64_t sum = 0;
    for (const auto& host : world_->hosts)
      sum += host->counted(static_cast<Cause>(i));
    if (sum > 0) report.causes.emplace_back(LnetCauses::kInfo[i].name, sum);
    if (static_cast<Cause>(i) == Cause::kCrossedHome) report.crossed_home = sum;
    if (static_cast<Cause>(i) == Cause::kCrossedMatch) report.crossed_match = sum;
  }
  for (const auto& host : world_->hosts) {
    host->count_into(report.net_counts);
    report.other_nid += host->matched_by_other_nid();
    report.connections_lost += host->connections_lost();
    report.wire_faults += host->wire_faults();
    report.routes_changed += host->routes_changed();
  }
  return report;
}

SiteReport run_site(const SiteConfig& config) {
  Site site(config);
  return site.run();
}

}  // namespace plnet::sim

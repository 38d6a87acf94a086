// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/coordinator.hpp"

#include <algorithm>
#include <array>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

namespace {

// The interval of looks at readers and homes that have not released yet.
constexpr Duration kLookAgain = std::chrono::milliseconds(1);
// The interval of looks at messages that wait for a discovery.
constexpr Duration kWaitingInterval = std::chrono::seconds(1);

// The request can wait for room, or for its turn within the second. Its connection is not read
// meanwhile.
bool can_wait(Errc why) {
  return why == Errc::kAgain || why == Errc::kNoSpace;
}

std::string why_no_route(const RouteSetup& setup, const LocalView& local, Errc code) {
  const std::string net = text_of_net(setup.net);
  const std::string gateway = text_of(setup.gateway);
  switch (code) {
    case Errc::kExists:
      if (local.net(setup.net) != nullptr) return net + " is a network of this node";
      return "there is a route to " + net + " by the node of " + gateway;
    case Errc::kNoRoute:
      return "gateway " + gateway + ": this node is not on network " +
             text_of_net(setup.gateway.net());
    case Errc::kNoSpace: return "no more routes";
    case Errc::kNoMemory: return "no room for one more peer, gateway " + gateway;
    case Errc::kAgain: return "room for gateway " + gateway + " is being made";
    default: return "no route can lead to " + net + " by " + gateway;
  }
}

}  // namespace

Coordinator::Coordinator(const CoordinatorLimits& limits, Qsbr& qsbr, Placement& placement,
                         Parameters& parameters, CoordinatorHost& host, PingMemory memory)
    : parameters_(parameters),
      host_(host),
      faults_(qsbr, Random(limits.fault_seed)),
      access_(qsbr),
      networks_(qsbr, limits.shards),
      directory_(limits.peers, qsbr, placement, *this),
      rules_(directory_),
      ping_target_(host.data(), memory.split(PingTarget::kBuffers)),
      exchanges_(memory.split(limits.exchanges)),
      discovery_({.directory = directory_,
                  .rules = rules_,
                  .operations = host.data(),
                  .parameters = parameters,
                  .ping_target = ping_target_,
                  .exchanges = exchanges_,
                  .observer = *this}),
      routes_(directory_, qsbr, *this, Random(limits.route_seed)),
      policies_(directory_, routes_, qsbr),
      checks_({.directory = directory_,
               .discovery = discovery_,
               .routes = routes_,
               .recovery = recovery_,
               .parameters = parameters}),
      push_target_(host.data(), discovery_, memory.split(1)),
      recovery_(directory_, parameters, node_ping_, limits.recovering),
      node_ping_(host.data(), exchanges_, directory_),
      standing_({.parameters = parameters,
                 .networks = networks_,
                 .directory = directory_,
                 .ping_target = ping_target_,
                 .discovery = discovery_,
                 .notes = limits.notes}),
      wanted_max_(limits.waiting_for_peers) {
  wanted_.reserve(wanted_max_);
  directory_.set_local(networks_.view());
  (void)ping_target_.set_discovery(parameters.discovery.get() != 0);
  // 0@lo exists and answers before all else, as in the kernel.
  if (!ping_target_.set_interfaces({})) counters_.add(CoordinatorCounter::kTargetFailed);
}

// Parcels

void Coordinator::answer(Parcel& parcel, Result<void> outcome) {
  PLNET_CHECK(!parcel.linked(), "an answered request waits in no queue");
  parcel.outcome = outcome;
  host_.wait_over(parcel);
}

void Coordinator::want_peer(Parcel& parcel, const WantedPeer& wanted) {
  PLNET_CHECK(!parcel.linked(), "a request is in no queue of its shard");
  counters_.add(CoordinatorCounter::kWanted);
  if (shut_) return answer(parcel, std::unexpected(Errc::kShutdown));
  // Waiting requests are served first.
  const bool queues = !wanted_.empty() && wanted.demand != PeerDemand::kOwn &&
                      directory_.lookup(wanted.nid) == nullptr;
  const auto made =
      queues ? std::unexpected(Errc::kAgain) : directory_.create_by_traffic(wanted, host_.now());
  if (made) return answer(parcel, {});
  if (can_wait(made.error()) && wanted_.size() < wanted_max_) {
    counters_.add(CoordinatorCounter::kWantedWaited);
    wanted_.push_back({&parcel, wanted});
    PLNET_CHECK(wanted_.size() <= wanted_max_, "the number of waiting requests is bounded");
    wanted_.back().peer.again = true;
    return;
  }
  counters_.add(CoordinatorCounter::kWantedRefused);
  answer(parcel, std::unexpected(made.error()));
}

void Coordinator::ask_again_for_peers() {
  room_has_come_ = false;
  std::size_t kept = 0;
  for (const Wanted wanted : wanted_) {
    PLNET_CHECK(wanted.parcel != nullptr && !wanted.parcel->linked(),
                "a request that waits belongs to the coordinator");
    const auto made = directory_.create_by_traffic(wanted.peer, host_.now());
    if (!made && can_wait(made.error())) {
      wanted_[kept++] = wanted;
      continue;
    }
    if (!made) counters_.add(CoordinatorCounter::kWantedRefused);
    answer(*wanted.parcel, made ? Result<void>() : std::unexpected(made.error()));
  }
  wanted_.resize(kept);
  PLNET_CHECK(kept <= wanted_max_, "the number of waiting requests is bounded");
}

void Coordinator::discover(Message& message, PeerNi& ni) {
  counters_.add(CoordinatorCounter::kDiscover);
  if (record_of(ni).stage != PeerNiStage::kLive) {
    counters_.add(CoordinatorCounter::kDiscoverGone);
    return answer(message, {});
  }
  discovery_.wait_for(PeerDirectory::peer_of(record_of(ni)), message);
}

void Coordinator::peer_ni_released(PeerNi& ni) {
  directory_.peer_ni_released(ni);
  discovery_.peer_ni_released();
  room_has_come_ = true;
}

// Time

void Coordinator::release_nis() {
  networks_.step();
  for (std::size_t i = 0; i < removed_.size();) {
    Ni* ni = removed_[i];
    if (!networks_.readers_passed(*ni)) {
      ++i;
      continue;
    }
    removed_.erase(removed_.begin() + static_cast<std::ptrdiff_t>(i));
    PLNET_CHECK(std::ranges::find(releasing_, ni) == releasing_.end(), "an NI is released once");
    releasing_.push_back(ni);
    host_.release_ni(*ni);
  }
}

void Coordinator::ni_released(Ni& ni) {
  PLNET_CHECK(std::ranges::find(releasing_, &ni) != releasing_.end(),
              "an NI is released once, after its removal");
  std::erase(releasing_, &ni);
  directory_.remove_local(ni);  // a shard may have recorded it after its removal
  networks_.released(ni);
}

unsigned Coordinator::step(Instant now, unsigned budget) {
  PLNET_CHECK(budget > 0, "each step makes progress");
  unsigned done = directory_.step(budget);
  if (routes_.step(local(), now)) ++done;
  done += policies_.step();
  release_nis();
  faults_.step();
  access_.step();
  if (ping_target_.step()) {
    discovery_.push_to_all(false);
    ++done;
  }
  push_target_.grow(discovery_.wanted_push_bytes());
  if (!shut_ && !push_target_.step()) counters_.add(CoordinatorCounter::kTargetFailed);
  done += discovery_.step(budget);
  if (discovery_.waiting() && now >= next_look_) {
    discovery_.serve_waiting(now - parameters_.transaction_timeout());
    next_look_ = now + kWaitingInterval;
  }
  if (!shut_) checks_.step(local(), now);
  if (checks_.exchange_lost()) host_.hop_lost();
  if (!shut_) done += recovery_.step(now);
  node_ping_.step(now);
  if (!shut_ && now >= standing_.next_deadline()) {
    done += standing_.step(now, host_.routed_load());
    if (const Instant quiet = standing_.quiet_since(); quiet != Instant::max())
      host_.count_unsent(quiet);
  }
  while (Parcel* parcel = discovery_.pop_ended()) {
    host_.wait_over(*parcel);
    ++done;
  }
  // Time alone also makes room: a record passes its last readers without a notice.
  if (!wanted_.empty() && (room_has_come_ || done > 0 || now >= next_turn_)) {
    ask_again_for_peers();
    next_turn_ = now + kLookAgain;
  }
  return done;
}

Instant Coordinator::next_deadline(Instant now) {
  if (discovery_.has_work() || policies_.has_work() || (!shut_ && !push_target_.posted()))
    return now;
  const bool waiting =
      directory_.waiting() || policies_.waiting() || !wanted_.empty() || !removed_.empty();
  Instant next = std::min(waiting ? now + kLookAgain : Instant::max(), node_ping_.next_deadline());
  if (!shut_) {
    next = std::min(
        {next, std::max(now, standing_.next_deadline()), std::max(now, recovery_.next_deadline())});
  }
  next = std::min({next, routes_.next_deadline(now), shut_ ? next : checks_.next_deadline()});
  if (discovery_.waiting()) next = std::min(next, std::max(now, next_look_));
  return next;
}

// Local NIs

void Coordinator::local_changed() {
  const LocalView& view = networks_.view();
  directory_.set_local(view);
  policies_.local_changed(view);
  if (shut_) return;
  std::array<PingEntry, kNisMax> entries{};
  std::size_t count = 0;
  PLNET_CHECK(view.nis.size() < kNisMax, "the number of NIs is bounded");
  for (const Ni* ni : view.nis)
    entries[count++] = {ni->nid, ni->status.get()};
  if (!ping_target_.set_interfaces(std::span(entries).first(count)))
    counters_.add(CoordinatorCounter::kTargetFailed);
  discovery_.push_to_all(false);
}

Outcome<Ni*> Coordinator::add_ni(const NiSetup& config) {
  const bool new_net = !networks_.has_net(config.nid.net());
  const auto added = networks_.add(config);
  if (!added) return added;
  standing_.welcome(**added, host_.now());
  PLNET_CHECK(networks_.view().ni(config.nid) == *added, "an NI that was added is in the view");
  local_changed();
  if (new_net) directory_.net_added(config.nid.net());
  return added;
}

Outcome<void> Coordinator::remove_ni(const Nid& nid) {
  const auto removed = networks_.remove(nid);
  if (!removed) return std::unexpected(removed.error());
  Ni& ni = **removed;
  PLNET_CHECK(std::ranges::find(removed_, &ni) == removed_.end(), "an NI is removed once");
  for (Wanted& wanted : wanted_) {
    if (wanted.peer.received_on == &ni) wanted.peer.received_on = nullptr;
    PLNET_CHECK(networks_.view().ni(nid) == nullptr, "an NI that was removed is in no view");
  }
  directory_.set_local(networks_.view());
  directory_.remove_local(ni);
  if (!networks_.has_net(ni.net)) {
    routes_.net_removed(ni.net);
    rules_.net_removed(ni.net, [this](PeerRecord& peer) { discovery_.on_network_removed(peer); });
    directory_.commit();
    policies_.gateways_changed();
  }
  removed_.push_back(&ni);
  local_changed();
  return {};
}

// Peers and parameters

PeerResult<void> Coordinator::add_peer(const Nid& primary, const Nid& nid, bool multi_rail,
                                       bool lock_primary) {
  const auto added = rules_.configure(primary, nid, multi_rail, lock_primary, host_.now());
  directory_.commit();
  policies_.gateways_changed();
  return added;
}

PeerResult<void> Coordinator::delete_peer(const Nid& primary, const Nid& nid, bool force) {
  const auto deleted = rules_.unconfigure(primary, nid, force);
  directory_.commit();
  policies_.gateways_changed();
  return deleted;
}

PeerResult<void> Coordinator::withdraw_nid(const Nid& primary, const Nid& nid) {
  const auto withdrawn = rules_.withdraw(primary, nid);
  directory_.commit();
  policies_.gateways_changed();
  return withdrawn;
}

PeerResult<void> Coordinator::put_back_peer(const Nid& primary, const PeerFound& before) {
  const auto done = rules_.put_back(primary, before);
  directory_.commit();
  policies_.gateways_changed();
  return done;
}

// Routes

void Coordinator::on_peer_gone(Peer& peer) {
  routes_.gateway_gone(record_of(peer));
  discovery_.peer_gone(record_of(peer));
}

void Coordinator::request_recovery_if_needed(const PeerNi& ni) {
  if (recovery_.lacks_health(ni)) request_recovery(ni.nid);
}

// Trust a single-NI peer that reports itself down; do not ping it.
void Coordinator::on_peer_ni_down(PeerNi& ni) {
  const PeerRecord& peer = PeerDirectory::peer_of(record_of(ni));
  if (peer.ni_count > 1) request_recovery_if_needed(ni);
  // A gateway gets its requests when its routes are judged; a request now would be removed again.
  if (peer.gateway_refs > 0) {
    mark_gateway_down(peer, routes_.view());
    return checks_.on_loss();
  }
  host_.hop_lost();
}

// Health that mattered to no choice may do so among several NIs.
void Coordinator::on_peer_ni_added(PeerNi& ni) {
  policies_.apply(ni);
  PeerDirectory::peer_of(record_of(ni)).nets.for_each([this](PeerNetRecord& net) {
    net.nis.for_each([this](const PeerNiRecord& each) { request_recovery_if_needed(each); });
  });
}

void Coordinator::on_routes_published(const RouteView& view) {
  checks_.routes_published();
  policies_.gateways_changed();
  host_.publish_routes(view);
  host_.hop_lost();  // some routes may be gone
}

void Coordinator::on_gateway_moved(Peer& from, Peer& to) {
  routes_.gateway_moved(record_of(from), record_of(to));
}

Outcome<void> Coordinator::add_route(const RouteSetup& setup) {
  if (shut_) return failure(Errc::kShutdown, "LNet is going down");
  const bool alive = parameters_.check_routers_before_use.get() == 0;
  const auto added = routes_.add(setup, local(), alive, host_.now());
  if (added) return {};
  return failure(added.error(), why_no_route(setup, local(), added.error()));
}

Outcome<void> Coordinator::delete_route(NetId net, const Nid& gateway) {
  if (routes_.remove(net, gateway)) return {};
  return failure(Errc::kNotFound, "no route to " + text_of_net(net) + " by " + text_of(gateway));
}

void Coordinator::discover(DiscoverRequest& request, bool force) {
  const auto made = directory_.create_by_traffic({request.nid}, host_.now());
  if (made) Discovery::make_stale(PeerDirectory::peer_of(record_of(**made)), force);
  discovery_.discover(request);
}

void Coordinator::ping(PingRequest& request) {
  node_ping_.start(request, host_.now(),
                   static_cast<std::uint32_t>(std::max(parameters_.max_interfaces.get(), 1)));
}

// lustre-release lnet/lnet/api-ni.c: discovery_set()
void Coordinator::set_discovery(bool on) {
  if ((parameters_.discovery.get() != 0) == on) return;
  (void)ping_target_.set_discovery(on);
  if (!on) discovery_.push_to_all(true);
  parameters_.discovery.set(on ? 1 : 0);
}

Outcome<void> Coordinator::add_fault(const FaultSpec& spec) {
  auto added = faults_.add(spec, host_.now());
  host_.publish_faults(faults_.view());
  return added;
}

std::size_t Coordinator::remove_faults(FaultKind kind, const Nid& source, const Nid& destination) {
  const std::size_t removed = faults_.remove(kind, source, destination);
  host_.publish_faults(faults_.view());
  return removed;
}

std::size_t Coordinator::remove_fault(const FaultSpec& spec) {
  const std::size_t removed = faults_.remove(spec);
  host_.publish_faults(faults_.view());
  return removed;
}

Outcome<void> Coordinator::fail_nid(const Nid& nid, std::uint32_t messages) {
  auto done = faults_.fail_nid(nid, messages);
  host_.publish_faults(faults_.view());
  return done;
}

void Coordinator::set_access(std::span<const AccessRule> rules) {
  access_.set(rules);
  host_.publish_access(access_.view());
}

void Coordinator::shut_down() {
  PLNET_CHECK(!shut_, "the coordinator shuts down once");
  shut_ = true;
  faults_.close();
  host_.publish_faults(faults_.view());
  routes_.remove_all();
  for (const Wanted& wanted : wanted_)
    answer(*wanted.parcel, std::unexpected(Errc::kShutdown));
  wanted_.clear();
  discovery_.shut_down();
  node_ping_.shut_down();
  push_target_.close();
  host_.end_pushes();
  ping_target_.close();
}

bool Coordinator::quiet() const {
  return discovery_.quiet() && node_ping_.quiet() && !push_target_.posted();
}

}  // namespace plnet::lnet

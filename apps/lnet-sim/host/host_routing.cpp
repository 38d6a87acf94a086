// SPDX-License-Identifier: BSD-3-Clause
// A host with several networks: a router with buffers that may be drained, a node that uses
// routers, and interfaces whose links change.
#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-sim/host/host.hpp"

namespace plnet::sim {

using namespace lnet;

// Each neighbour may have messages under way to each shard up to its credits.
std::size_t Host::neighbour_credits() const {
  std::size_t most = 0;
  for (const NetInterface& interface : interfaces_)
    most = std::max<std::size_t>(most, interface.plan->peer_credits);
  return is_router() ? remote_nis() * most : 0;
}

std::size_t Host::forwarded_max() const {
  std::size_t count = 0;
  for (const BufferClass of : kAllBufferClasses)
    count += router_memory_.empty() ? 0 : router_memory_.front().most[of];
  return count;
}

void Host::begin_routing() {
  const GatewayPlan& plan = world_.config.gateways;
  Parameters& parameters = node_->parameters();
  parameters.alive_router_check_interval_s.set(static_cast<std::int32_t>(plan.check_interval_s));
  parameters.router_ping_timeout_s.set(static_cast<std::int32_t>(plan.ping_timeout_s));
  parameters.check_routers_before_use.set(plan.check_before_use ? 1 : 0);
  if (!is_router()) return;
  parameters.peer_buffer_credits.set(static_cast<std::int32_t>(group_.peer_buffer_credits));
  PLNET_CHECK(node_->set_router_buffers(group_.buffers).has_value(), "memory was made for them");
  node_->coordinator().set_routing(true, false);
}

void Host::add_routes() {
  for (const RouteSetup& route : routes_) {
    const auto added = node_->coordinator().add_route(route);
    PLNET_CHECK(added.has_value(), "the reader of the site has checked routes");
  }
}

void Host::set_link(const Nid& nid, bool up) {
  if (has_link(nid) == up) return;
  if (up) {
    std::erase(links_down_, nid);
  } else {
    links_down_.push_back(nid);
  }
  if (state_ == State::kUp) report_link(nid, up);
}

// In lnet-router the link watch reports a flapping link to an LND after it has been stable. An LND
// that observes its link itself holds it in the same way; the copy here must have reached the same
// state.
void Host::report_link(const Nid& nid, bool up) {
  const NetInterface& interface = *std::ranges::find(interfaces_, nid, &NetInterface::nid);
  const bool held = traits_of(interface.plan->kind).holds_links &&
                    !link_holds_[interface.number].see(up, world_.loop.now());
  net_of(interface.number).set_link(interface, up, held);
  ring_all();
}

unsigned Host::look_at_held_links(Instant now) {
  unsigned told = 0;
  if (state_ != State::kUp) return told;
  for (std::size_t i = 0; i < link_holds_.size(); ++i) {
    if (link_holds_[i].release_at() > now) continue;
    report_link(nids_[i], true);
    ++told;
  }
  return told;
}

Instant Host::next_link_look() const {
  Instant next = Instant::max();
  if (state_ != State::kUp) return next;
  for (const LinkHold& hold : link_holds_)
    next = std::min(next, hold.release_at());
  return next;
}

bool Host::is_link_held(const Nid& nid) const {
  const auto which = static_cast<std::size_t>(std::ranges::find(nids_, nid) - nids_.begin());
  return which < link_holds_.size() && link_holds_[which].held();
}

std::vector<std::uint32_t> Host::cabled() const {
  std::vector<std::uint32_t> all;
  for (const NetInterface& interface : interfaces_) {
    if (traits_of(interface.plan->kind).has_cables)
      all.push_back(static_cast<std::uint32_t>(interface.number));
  }
  return all;
}

bool Host::set_nack_storm(std::uint32_t interface, bool on) {
  const auto& net = nets_[static_cast<std::size_t>(interfaces_[interface].plan->kind)];
  const bool there = net && net->set_nack_storm(interfaces_[interface], on);
  if (there) ring_all();
  return there;
}

bool Host::has_link(const Nid& nid) const {
  return std::ranges::find(links_down_, nid) == links_down_.end();
}

void Host::calm() {
  for (const auto& net : nets_) {
    if (net) net->calm();
  }
  for (const NetInterface& interface : interfaces_)
    interface.network->put_back(interface.nid);
  for (const Nid& nid : nids_)
    set_link(nid, true);
  if (state_ == State::kUp && standing().is_drain()) undrain();
}

Duration Host::drain() {
  const Duration bound = RoutingStateMachine::patience(node_->parameters().router_notice());
  PLNET_CHECK(node_->coordinator().standing().drain(world_.loop.now(), bound).has_value(),
              "only a forwarding node can be drained");
  ring(0);
  return bound;
}

void Host::undrain() {
  PLNET_CHECK(node_->coordinator().standing().undrain(world_.loop.now()).has_value(),
              "only a draining node can be undrained");
  ring(0);
}

StandingReport Host::standing() const {
  return node_->coordinator().standing().report(world_.loop.now());
}

std::uint64_t Host::waited_for_buffers() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < shards_count_; ++i) {
    for (const BufferClass of : kAllBufferClasses)
      sum += node_->shard(i).core().buffers.view(of).waited;
  }
  return sum;
}

std::uint64_t Host::held_up() const {
  return counted(Cause::kHeldClientCredit) + counted(Cause::kHeldHopShare) +
         counted(Cause::kHeldRecords) + counted(Cause::kHeldPeerShare);
}

bool Host::holds_up_anybody() const {
  for (unsigned i = 0; i < shards_count_; ++i) {
    ShardCore& core = node_->shard(i).core();
    bool held = std::ranges::any_of(
        kAllBufferClasses, [&](BufferClass of) { return core.buffers.view(of).credits < 0; });
    core.peers.for_each([&](PeerPort& peer) { held = held || peer.client.waiting_count > 0; });
    if (held) return true;
  }
  return false;
}

bool Host::is_forwarding() const {
  return state_ == State::kUp && standing().state == RoutingState::kEnabled;
}

bool Host::has(const Nid& nid) const {
  return std::ranges::find(nids_, nid) != nids_.end() || nid.is_loopback();
}

const Nid& Host::nid_for(const Host& from, Random& random) const {
  const auto reached = [&](const Nid& nid) {
    return world_.layout.has_way(from.number(), nid.net());
  };
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(nids_, reached));
  PLNET_CHECK(count > 0, "the reader of the site has checked for a route");
  std::uint64_t place = random.below(count);
  for (const Nid& nid : nids_) {
    if (reached(nid) && place-- == 0) return nid;
  }
  return nids_.front();
}

std::string Host::what_routing_holds() const {
  if (node_ == nullptr) return {};
  for (unsigned i = 0; i < shards_count_; ++i) {
    ShardCore& core = node_->shard(i).core();
    const auto held = [&](const char* what, auto is, auto should) {
      return fmt::format("node {} shard {}: {}: {} of {}", number_, i, what, is, should);
    };
    for (const BufferClass of : kAllBufferClasses) {
      if (core.buffers.free_count(of) != core.buffers.total(of)) {
        return held("router buffers home", core.buffers.free_count(of), core.buffers.total(of));
      }
      if (core.buffers.view(of).credits != static_cast<std::int32_t>(core.buffers.total(of))) {
        return held("credits of buffers home", core.buffers.view(of).credits,
                    core.buffers.total(of));
      }
    }
    if (core.routed_held.get() != 0) return held("messages of others", core.routed_held.get(), 0);
    std::string wrong;
    core.peers.for_each([&](PeerPort& peer) {
      if (!wrong.empty()) return;
      const ClientCredits& client = peer.client;
      if (client.credits != client.credits_max) {
        wrong = held("peer-router credits home", client.credits, client.credits_max);
      } else if (client.waiting_count != 0 || peer.hop.held != 0 || peer.hop.waits()) {
        wrong = held("waits to be forwarded", client.waiting_count + peer.hop.held, 0);
      }
    });
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace plnet::sim

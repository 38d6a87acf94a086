// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/host/after.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-sim/host/host.hpp"
#include "lib/lnet/control/peer_recovery.hpp"

namespace plnet::sim {

using namespace lnet;

After::After(World& world, bool at_once)
    : world_(world), at_once_(at_once), visitor_of_(world.hosts.size()) {}

// A router that regards a next hop as down pings it at this interval, and drops messages for it
// until a ping is answered. Then an earlier message must end, and the next one arrive. A node makes
// its visits one after the other. Where receives are scarce each visit may have to be repeated,
// since all nodes visit at the same time.
Duration After::patience() const {
  std::size_t most = 1;
  for (const Visitor& visitor : visitors_)
    most = std::max(most, visitor.visits.size());
  const Duration each = PeerRecovery::kHopIntervalMax + PeerRecovery::kPingTimeout +
                        std::chrono::seconds(2 * world_.config.transaction_timeout_s);
  return static_cast<Duration::rep>(most) * each;
}

// Gateways are used in rotation, so as many messages as gateways use all of them.
unsigned After::ways(std::uint32_t from, std::uint32_t to) const {
  unsigned most = 1;
  for (const Nid& nid : world_.hosts[to]->nids()) {
    if (world_.layout.is_on(from, nid.net())) continue;
    const auto& routes = world_.hosts[from]->routes();
    most = std::max(most,
                    static_cast<unsigned>(std::ranges::count(routes, nid.net(), &RouteSetup::net)));
  }
  return most;
}

void After::plan() {
  std::size_t some = 0;
  for (std::uint32_t node = 0; node < world_.hosts.size(); ++node)
    some += world_.layout.begins_anything(node) ? 1 : 0;
  for (std::uint32_t node = 0; node < world_.hosts.size(); ++node) {
    const std::vector<std::uint32_t> partners = world_.layout.partners(node);
    if (partners.empty()) continue;  // a group of one node
    const std::size_t most = std::max<std::size_t>(kVisitsMax / some, 1);
    const std::size_t count = std::min(most, partners.size());
    const std::size_t number = visitors_.size();
    Visitor& visitor = visitors_.emplace_back(Visitor{.node = node, .visits = {}});
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t to = partners[(number * count + i) % partners.size()];
      const unsigned rounds = ways(node, to);
      visitor.visits.push_back({to, rounds, rounds});
    }
    visitor_of_[node] = static_cast<std::uint32_t>(number);
  }
  left_ = visitors_.size();
}

std::string After::begin(Instant now) {
  plan();
  for (const auto& host : world_.hosts) {
    if (host->state() != Host::State::kUp) return fmt::format("node {} is off", host->number());
    if (!host->program(0).attach_after()) return fmt::format("node {} has no room", host->number());
  }
  step(now);
  return {};
}

void After::step(Instant now) {
  for (Visitor& visitor : visitors_) {
    if (visitor.waits || visitor.visits.empty() || visitor.again > now) continue;
    const Visit& visit = visitor.visits.back();
    const Story story = visit.puts > 0 ? Story::kPutAfter : Story::kGetAfter;
    Host& host = *world_.hosts[visitor.node];
    visitor.waits = host.program(0).begin_after(*world_.hosts[visit.to], story, now);
  }
}

void After::ended(const Operation& operation, bool well) {
  Visitor& visitor = visitors_[visitor_of_[operation.initiator]];
  visitor.waits = false;
  if (!well) {
    ++failed_;
    visitor.again = world_.loop.now() + kAgain;
    if (at_once_ && wrong_.empty()) wrong_ = describe(world_.ledger, operation);
    return;
  }
  Visit& visit = visitor.visits.back();
  --(operation.story == Story::kPutAfter ? visit.puts : visit.gets);
  if (visit.puts + visit.gets > 0) return;
  visitor.visits.pop_back();
  if (visitor.visits.empty()) --left_;
}

std::string After::missing() const {
  for (const Visitor& visitor : visitors_) {
    if (visitor.visits.empty()) continue;
    const Visit& visit = visitor.visits.back();
    return fmt::format("node {} to {}, {} PUTs and {} GETs are left", visitor.node, visit.to,
                       visit.puts, visit.gets);
  }
  return {};
}

}  // namespace plnet::sim

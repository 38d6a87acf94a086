// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/selection_policies.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

// The work of one step, in comparisons of a NID with a policy: some ten microseconds.
constexpr std::size_t kWorkAtOnce = 512;
// The work of a view to publish. In one step as many as the directory takes back old ones.
constexpr std::size_t kWorkOfView = 8;
// Places without a peer cost a look each.
constexpr std::uint32_t kPlacesAtOnce = 1024;

void add_once(std::vector<Nid>& nids, const Nid& nid) {
  if (std::ranges::find(nids, nid) == nids.end()) nids.push_back(nid);
}

// The priority of the first policy whose range includes the object.
template <class Means>
std::uint32_t first_priority(std::span<const Udsp> policies, std::optional<UdspRange> Udsp::* range,
                             const Means& means) {
  for (const Udsp& policy : policies) {
    const auto& about = policy.*range;
    if (policy.is_priority() && policy.priority && about && means(*about)) return *policy.priority;
  }
  return kPriorityLowest;
}

}  // namespace

void SelectionPolicies::set(std::span<const Udsp> policies, const LocalView& local) {
  PLNET_CHECK(policies.size() <= kUdspsMax, "configurations are checked before");
  if (std::ranges::equal(policies, policies_)) return;
  policies_.assign(policies.begin(), policies.end());
  apply(local);
  replace(sources_meant(local), routers_meant());
}

// A network that is added again still has its old priority, even if no policy gives it now.
void SelectionPolicies::local_changed(const LocalView& local) {
  apply(local);
  if (policies_.empty()) return;
  auto sources = sources_meant(local);
  if (sources != current_->sources) replace(std::move(sources), current_->routers);
}

void SelectionPolicies::gateways_changed() {
  look_at_gateways_ = std::ranges::any_of(policies_, &Udsp::is_route);
}

void SelectionPolicies::look_at_gateways() {
  look_at_gateways_ = false;
  auto routers = routers_meant();
  if (routers != current_->routers) replace(current_->sources, std::move(routers));
}

void SelectionPolicies::replace(std::vector<std::vector<Nid>> sources,
                                std::vector<std::vector<Nid>> routers) {
  PLNET_CHECK(sources.size() == policies_.size() && routers.size() == policies_.size(),
              "a policy has two lists");
  if (!current_->made.empty()) old_.push_back(std::move(current_));
  for (const auto& old : old_)
    old->grace = 0;  // not before the end of this sweep
  current_ =
      std::make_unique<Meant>(Meant{.sources = std::move(sources), .routers = std::move(routers)});
  sweep_ = 0;
}

std::vector<std::vector<Nid>> SelectionPolicies::sources_meant(const LocalView& local) const {
  std::vector<std::vector<Nid>> meant(policies_.size());
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    const auto& source = policies_[i].source;
    if (!policies_[i].is_pair() || !source) continue;
    for (const Ni* const ni : local.nis) {
      if (covers(*source, ni->nid)) add_once(meant[i], ni->nid);
    }
  }
  return meant;
}

std::vector<std::vector<Nid>> SelectionPolicies::routers_meant() const {
  std::vector<std::vector<Nid>> meant(policies_.size());
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    const auto& router = policies_[i].router;
    if (!router) continue;
    for (const auto& route : routes_.routes()) {
      const PeerView& gateway = route->gateway.load(std::memory_order_relaxed)->seen();
      const bool fits = std::ranges::any_of(
          gateway.nis, [&](const PeerNi* ni) { return covers(*router, ni->nid); });
      if (fits) add_once(meant[i], gateway.primary);
    }
  }
  return meant;
}

std::uint32_t SelectionPolicies::priority_by(RangeOf range, NetId net) const {
  return first_priority(policies_, range, [net](const UdspRange& about) {
    return about.is_net_only() && about.matches_net(net);
  });
}

std::uint32_t SelectionPolicies::priority_by(RangeOf range, const Nid& nid) const {
  return first_priority(policies_, range,
                        [&nid](const UdspRange& about) { return about.matches(nid); });
}

void SelectionPolicies::apply(const LocalView& local) const {
  PLNET_CHECK(
      std::ranges::all_of(local.nets, [](const Net& net) { return net.priority != nullptr; }),
      "a network has a place for its priority");
  for (const Net& net : local.nets)
    net.priority->set(priority_by(&Udsp::source, net.id));
  for (Ni* const ni : local.nis)
    ni->priority.set(priority_by(&Udsp::source, ni->nid));
}

// Ignores a list that is empty now, as in the kernel.
SelectionPolicies::Deciders SelectionPolicies::deciders_of(const Nid& peer_nid) const {
  const auto first = [&](const std::vector<std::vector<Nid>>& lists) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const auto& destination = policies_[i].destination;
      if (!lists[i].empty() && destination && covers(*destination, peer_nid)) return i;
    }
    return lists.size();
  };
  return {first(current_->sources), first(current_->routers)};
}

Preferences SelectionPolicies::made_of(const Deciders& deciders) const {
  PLNET_CHECK(deciders != nobody(), "preferences come from a policy");
  const auto list = [](const std::vector<std::vector<Nid>>& lists, std::size_t index) {
    return index < lists.size() ? lists[index] : std::vector<Nid>{};
  };
  return {list(current_->sources, deciders.first), list(current_->routers, deciders.second)};
}

const Preferences* SelectionPolicies::preferences_of(const Nid& peer_nid) {
  PLNET_CHECK(current_->sources.size() == policies_.size(), "the lists are those of the policies");
  const Deciders deciders = deciders_of(peer_nid);
  if (deciders == nobody()) return nullptr;
  auto& made = current_->made[deciders];
  if (made == nullptr) made = std::make_unique<const Preferences>(made_of(deciders));
  return made.get();
}

PeerWelcome SelectionPolicies::welcome(const Nid& nid) const {
  PeerWelcome told{.net_priority = priority_of_peer_net(nid.net()),
                   .priority = priority_by(&Udsp::destination, nid)};
  if (const Deciders deciders = deciders_of(nid); deciders != nobody())
    told.preferences = made_of(deciders);
  return told;
}

void SelectionPolicies::apply(PeerNi& ni) {
  ni.priority.set(priority_by(&Udsp::destination, ni.nid));
  const Preferences* const before = ni.preferences.load(std::memory_order_relaxed);
  const Preferences* const after = preferences_of(ni.nid);
  if (before == after) return;
  ni.preferences.store(after, std::memory_order_release);
  const auto sources = [](const Preferences* preferences) {
    return preferences == nullptr ? std::span<const Nid>{} : preferences->local_nids();
  };
  // The policy replaces the NI that a peer which is not multi-rail got with its first request.
  if (!std::ranges::equal(sources(before), sources(after))) ni.preferred_ni.set(nullptr);
}

// Returns the work done.
std::size_t SelectionPolicies::apply(PeerRecord& peer) {
  std::size_t work = peer.ni_count * std::max<std::size_t>(policies_.size(), 1);
  peer.nets.for_each([&](PeerNetRecord& net) {
    const std::uint32_t priority = priority_of_peer_net(net.net);
    if (net.priority != priority) {
      directory_.set_priority(net, priority);
      work += kWorkOfView;
    }
    net.nis.for_each([this](PeerNiRecord& ni) { apply(ni); });
  });
  return work;
}

unsigned SelectionPolicies::step() {
  std::erase_if(old_,
                [this](const auto& old) { return old->grace != 0 && qsbr_.passed(old->grace); });
  // Views that wait for room would be looked at with each change, and the NIDs of gateways are in
  // them.
  if (directory_.has_late_views()) return 0;
  if (look_at_gateways_) look_at_gateways();
  if (!sweeping()) return 0;
  PLNET_CHECK(sweep_ < directory_.numbers(), "a sweep stays in the table");
  std::size_t left = kWorkAtOnce;
  const std::uint32_t end = std::min(directory_.numbers(), sweep_ + kPlacesAtOnce);
  for (; sweep_ < end && left > 0; ++sweep_) {
    PeerRecord* const peer = directory_.by_number(sweep_);
    if (peer == nullptr) continue;
    left -= std::min(left, apply(*peer));
  }
  directory_.commit();
  if (!sweeping()) {
    for (const auto& old : old_)
      old->grace = qsbr_.begin_grace();
  }
  return 1;
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/address_links.hpp"

#include <algorithm>
#include <utility>

#include "lib/lnet/node/node.hpp"
#include "lib/runtime/host/local_addresses.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {
namespace {

using lnet::Nid;

constexpr std::string_view kNoAddress = "no interface has its address";
constexpr std::string_view kSwitchedOff = "its interface is switched off";
constexpr std::string_view kNoCarrier = "the link of its interface has no carrier";
constexpr std::string_view kBounces = "its link has flapped and counts as down until it is stable";

// The loopback interface is always up, and it has all addresses of its network, not only the listed
// ones.
bool is_loopback(const Nid& nid) {
  return !nid.is_large() && nid.address_be[0] == 127;
}

// An address may be on two interfaces: the better one counts.
std::string_view trouble_of(const Nid& nid, const std::vector<runtime::LocalAddress>& known) {
  if (is_loopback(nid)) return {};
  std::string_view trouble = kNoAddress;
  for (const runtime::LocalAddress& each : known) {
    if (each.is_v6 != nid.is_large() || each.bytes_be != nid.address_be) continue;
    if (each.up && each.running) return {};
    if (trouble != kNoCarrier) trouble = each.up ? kNoCarrier : kSwitchedOff;
  }
  return trouble;
}

struct Told {
  Nid nid;
  bool up = true;
};

// Interval of retries after a failed look: the process is out of file descriptors, or the system
// out of memory.
constexpr Duration kLookAgain = std::chrono::seconds(1);

}  // namespace

void AddressLinks::look(LnetDesk& desk, std::span<const Nid> nis, Instant now, const LinkSaid& said,
                        Tell tell) {
  const auto known = runtime::local_addresses(true);
  // The system does not repeat its notification, so only a timer leads to another look.
  looks_again_at_ = known ? Instant::max() : now + kLookAgain;
  if (!known) return;
  std::vector<Told> told;
  std::vector<Link> links;
  links.reserve(nis.size());
  for (const Nid& nid : nis) {
    const auto before = std::ranges::find(links_, nid, &Link::nid);
    Link& link = links.emplace_back(before == links_.end() ? Link{.nid = nid} : *before);
    std::string_view cause = trouble_of(nid, *known);
    const bool up = link.hold.see(cause.empty(), now);
    if (link.hold.held()) cause = kBounces;
    const std::string_view earlier = std::exchange(link.cause, cause);
    // The cause of an NI that comes up may change several times in a moment; that it is held down
    // is reported once.
    const bool newly_held = cause == kBounces && !link.hold_told;
    link.hold_told = !cause.empty() && (link.hold_told || newly_held);
    if (earlier.empty() != cause.empty() || newly_held) said(nid, cause);
    told.push_back({.nid = nid, .up = up});
  }
  links_ = std::move(links);
  // Unchanged links, too: an LND may be new since the last look. An LND that this tour misses is
  // updated at the next change.
  tour_shards(
      desk,
      [tell = std::move(tell), told = std::move(told)](lnet::Node&, unsigned shard) {
        for (const auto& [nid, up] : told)
          tell(shard, nid, up);
        return LnetDesk::Progress::kDone;
      },
      [](Outcome<void>&&) {});
}

Instant AddressLinks::look_again_at() const {
  Instant next = looks_again_at_;
  for (const Link& link : links_)
    next = std::min(next, link.hold.release_at());
  return next;
}

std::string_view AddressLinks::cause_of(const Nid& nid) const {
  const auto found = std::ranges::find(links_, nid, &Link::nid);
  return found == links_.end() ? std::string_view{} : found->cause;
}

std::string interface_of(const lnet::Nid& nid) {
  const auto known = runtime::local_addresses(true);
  if (!known) return {};
  const auto has_it = [&](const runtime::LocalAddress& each) {
    return each.up && !each.loopback && each.is_v6 == nid.is_large() &&
           each.bytes_be == nid.address_be;
  };
  const auto found = std::ranges::find_if(*known, has_it);
  return found == known->end() ? std::string{} : found->interface;
}

}  // namespace plnet::node

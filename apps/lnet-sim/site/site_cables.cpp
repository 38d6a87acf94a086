// SPDX-License-Identifier: BSD-3-Clause
// Faults of NICs with cables: a cable in another port, a NIC that rejects everything.
#include <algorithm>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim {

namespace {

// Encoding of an event's second number: an interface, and another node, or none.
constexpr unsigned kInterfaceShift = 20;
constexpr std::uint32_t kNodeMask = (1U << kInterfaceShift) - 1;
constexpr std::uint32_t kNobody = kNodeMask;

}  // namespace

void Site::schedule_cables() {
  std::vector<std::uint32_t> nodes;
  for (const auto& host : world_->hosts) {
    if (!host->cabled().empty()) nodes.push_back(host->number());
  }
  if (nodes.empty()) return;
  const auto some_node = [&] { return nodes[random_.below(nodes.size())]; };
  const auto schedule_one = [&](Fault begin, Fault end, std::uint32_t other) {
    const std::uint32_t node = some_node();
    const std::vector<std::uint32_t> interfaces = world_->hosts[node]->cabled();
    const std::uint32_t which = interfaces[random_.below(interfaces.size())];
    const Instant when = sometime();
    const std::uint32_t b = which << kInterfaceShift | other;
    schedule(when, begin, node, b);
    schedule(end_of_outage(when), end, node, b);
  };
  for (unsigned i = 0; i < config_.faults.moves; ++i)
    schedule_one(Fault::kMove, Fault::kPutBack, i % 2 == 0 ? kNobody : some_node());
  for (unsigned i = 0; i < config_.faults.nack_storms; ++i)
    schedule_one(Fault::kStorm, Fault::kStormOver, kNobody);
}

// Swaps it with the cable of another node on the same network, if that node has one.
void Site::move_cable(Host& host, std::uint32_t interface, std::uint32_t other) {
  const lnet::Nid& nid = host.nids()[interface];
  Network& network = host.network_of(interface);
  if (other == kNobody) {
    if (network.move(nid)) ++moves_;
    return;
  }
  const auto theirs = world_->hosts[other]->nids();
  const auto found = std::ranges::find(theirs, nid.net(), &lnet::Nid::net);
  if (found != theirs.end() && network.swap(nid, *found)) ++moves_;
}

void Site::note_trouble(std::uint32_t node, bool begins) {
  world_->drains.trouble(node, loop_.now());
  unsigned& troubles = troubled_[node];
  if (begins) ++troubles;
  if (!begins && troubles > 0) --troubles;
}

// An outage ends as often as it has begun, whatever happened to the node meanwhile.
void Site::disturb_cable(Fault fault, Host& host, std::uint32_t b) {
  const std::uint32_t interface = b >> kInterfaceShift;
  const bool begins = fault == Fault::kMove || fault == Fault::kStorm;
  world_->troubles += begins ? 1U : 0U;
  if (!begins && world_->troubles > 0) --world_->troubles;
  // A swap also changes the other node's address.
  const std::uint32_t other = b & kNodeMask;
  const bool is_swap = (fault == Fault::kMove || fault == Fault::kPutBack) && other != kNobody;
  note_trouble(host.number(), begins);
  if (is_swap) note_trouble(other, begins);
  switch (fault) {
    case Fault::kMove: return move_cable(host, interface, b & kNodeMask);
    case Fault::kPutBack: return host.network_of(interface).put_back(host.nids()[interface]);
    case Fault::kStorm: storms_ += host.set_nack_storm(interface, true) ? 1U : 0U; return;
    case Fault::kStormOver: (void)host.set_nack_storm(interface, false); return;
    default: PLNET_CHECK(false, "disturb() handles the other faults");
  }
}

}  // namespace plnet::sim

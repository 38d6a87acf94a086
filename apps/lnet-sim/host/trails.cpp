// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/host/trails.hpp"

#include <algorithm>

#include "apps/lnet-sim/host/host.hpp"
#include "lib/lnet/match/wire_handle.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr std::size_t kLivesUsual = 4096;

}  // namespace

void Trails::began(Host& host, Instant now) {
  if (lives_.empty()) {
    first_cookie_ = host.cookie();
    lives_.reserve(kLivesUsual);
  }
  PLNET_CHECK(host.cookie() == first_cookie_ + lives_.size(), "lives are numbered in order");
  lives_.push_back(&host);
  if (off_[host.number()]) back_[host.number()] = now;
  off_[host.number()] = false;
}

// The identification in a message: a PUT has it in its header data, others in the handle of the
// initiator's descriptor.
std::uint64_t Trails::operation_of(const MessageHeader& header) const {
  WireHandle handle;
  switch (header.type) {
    case MessageType::kPut:
      return Program::is_portal(portal_of(header)) ? header.area<PutArea>().header_data : 0;
    case MessageType::kGet:
      if (!Program::is_portal(portal_of(header))) return 0;
      handle = header.area<GetArea>().return_handle;
      break;
    case MessageType::kAck:
    case MessageType::kReply: handle = handle_of(header); break;
    default: return 0;
  }
  const std::uint64_t life = handle.interface_cookie - first_cookie_;
  if (life >= lives_.size()) return 0;
  Host& host = *lives_[life];
  // the host may be in another incarnation by now
  const auto md = decode_handle(handle, host.cookie());
  if (!md || host.state() == Host::State::kOff || md->shard >= host.shards()) return 0;
  return host.program(md->shard).operation_of(*md);
}

void Trails::handed(std::uint64_t id, std::uint32_t node, const Nid& hop, Instant now) {
  Operation* const operation = id == 0 ? nullptr : ledger_.find(id);
  if (operation == nullptr) return;
  Trail& trail = operation->trail;
  trail.state = Trail::State::kHanded;
  trail.node = node;
  trail.hop = Layout::node_of(hop);
  trail.exposed = trail.exposed || is_exposed(trail.hop, now);
}

bool Trails::is_exposed(std::uint32_t hop, Instant now) const {
  if (hop >= off_.size()) return false;
  return off_[hop] || (back_[hop] != kNever && now - back_[hop] <= stale_);
}

// Its arrival may already have been noted.
void Trails::sent(std::uint64_t id, std::uint32_t node, bool well, Instant now) {
  Operation* const operation = id == 0 ? nullptr : ledger_.find(id);
  if (operation == nullptr) return;
  Trail& trail = operation->trail;
  if (trail.state != Trail::State::kHanded || trail.node != node) return;
  trail.state = well ? Trail::State::kSent : Trail::State::kEnded;
  trail.sent_at = now;
}

void Trails::arrived(std::uint64_t id, std::uint32_t node) {
  Operation* const operation = id == 0 ? nullptr : ledger_.find(id);
  if (operation == nullptr) return;
  operation->trail.state = Trail::State::kThere;
  operation->trail.node = operation->trail.hop = node;
}

void Trails::ended(std::uint64_t id, std::uint32_t node) {
  Operation* const operation = id == 0 ? nullptr : ledger_.find(id);
  if (operation == nullptr || operation->trail.node != node) return;
  operation->trail.state = Trail::State::kEnded;
}

void Trails::parted(std::uint32_t a, std::uint32_t b, Instant now) {
  if (a < parted_.size()) parted_[a] = now;
  if (b < parted_.size()) parted_[b] = now;
}

void Trails::disconnected(std::uint32_t a, std::uint32_t b, Instant now) {
  const std::uint64_t key = key_of(a, b);
  const auto found = std::ranges::lower_bound(pairs_, key, {}, &Pair::nodes);
  if (found == pairs_.end() || found->nodes != key) {
    pairs_.insert(found, {key, now});
  } else {
    found->disconnected = now;
  }
}

Instant Trails::last_disconnected(std::uint32_t a, std::uint32_t b) const {
  const std::uint64_t key = key_of(a, b);
  const auto found = std::ranges::lower_bound(pairs_, key, {}, &Pair::nodes);
  return found == pairs_.end() || found->nodes != key ? kNever : found->disconnected;
}

void Trails::lost_power(std::uint32_t node, Instant now) {
  parted_[node] = now;
  off_[node] = true;
  const auto expose = [&](Operation& operation) {
    Trail& trail = operation.trail;
    const bool by_it = operation.initiator == node || operation.target == node ||
                       (trail.state != Trail::State::kNone && trail.state != Trail::State::kEnded &&
                        (trail.node == node || trail.hop == node));
    trail.exposed = trail.exposed || by_it;
  };
  ledger_.for_each_open(expose);
  ledger_.for_each_undelivered(expose);
}

void Trails::failed(const Operation& operation) {
  if (watches_failures_ && !operation.trail.exposed && failed_elsewhere_.empty())
    failed_elsewhere_ = describe(ledger_, operation);
}

bool Trails::is_explained(const Operation& operation) const {
  const Trail& trail = operation.trail;
  if (trail.exposed || trail.state == Trail::State::kEnded) return true;
  if (trail.state != Trail::State::kSent) return false;
  const Instant separated = std::max(parted_[trail.node], parted_[trail.hop]);
  return std::max(separated, last_disconnected(trail.node, trail.hop)) >= trail.sent_at;
}

std::string Trails::without_cause(std::span<const std::uint64_t> forward_failed) {
  std::string first;
  std::vector<std::uint64_t> unseen(forward_failed.begin(), forward_failed.end());
  unseen.resize(relays_failed_.size());
  for (std::size_t node = 0; node < unseen.size(); ++node)
    unseen[node] -= std::min(unseen[node], relays_failed_[node]);
  ledger_.for_each_silent([&](const Operation& operation) {
    if (!first.empty() || is_explained(operation)) return;
    const Trail& trail = operation.trail;
    const bool in_router = trail.state == Trail::State::kThere && trail.node != operation.target;
    if (in_router && unseen[trail.node] > 0) {
      --unseen[trail.node];
      return;
    }
    first = describe(ledger_, operation);
  });
  return first;
}

}  // namespace plnet::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/core_node.hpp"

#include <map>
#include <utility>

namespace plnet::mocks {

using namespace lnet;

struct CoreNode::RoundRobin final : Placement {
  explicit RoundRobin(unsigned count) : shards(count) {}
  HomePlace choose(const Nid& /*nid*/, const LocalView& /*local*/) override {
    const ShardId shard = forced ? *forced : static_cast<ShardId>(next++ % shards);
    return {0, shard};
  }
  void leave(HomePlace /*place*/) override {}

  unsigned shards;
  unsigned next = 0;
  std::optional<ShardId> forced;
};

CoreNode::CoreNode(const CoreNodeSetup& setup, const MakeLnd& make_lnd)
    : setup_(setup),
      qsbr_(setup.shards, setup.peers * 4 + 64),
      placement_(std::make_unique<RoundRobin>(setup.shards)),
      portals_(setup.shards),
      priorities_(setup.nids.size()) {
  for (unsigned i = 0; i < setup.shards; ++i) {
    bells_.push_back(std::make_unique<SilentDoorbell>());
    bell_pointers_.push_back(setup.doorbells.empty() ? bells_.back().get() : setup.doorbells[i]);
    readers_.push_back(*qsbr_.register_reader());
    qsbr_.online(readers_.back());
  }
  mail_ = std::make_unique<MailboxGrid<Parcel>>(
      (setup.limits.messages + 2 * setup.limits.receives) * setup.shards + 16, bell_pointers_);
  shared_.shards = setup.shards;
  shared_.lazy_attached = std::make_unique<lnet::NodeShared::Notice[]>(setup.shards);
  shared_.refused_peers = std::make_unique<lnet::RefusedPeerBook[]>(setup.shards);
  shared_.limits = setup.limits;
  shared_.peer_nis = setup.peers;
  shared_.interface_cookie = setup.interface_cookie;
  shared_.arenas = setup.arenas;
  shared_.taps = setup.taps;
  shared_.router_memory = setup_.router_memory;
  shared_.portals = &portals_;
  shared_.mail = mail_.get();
  shared_.doorbells = bell_pointers_;

  const auto add_ni = [&](const Nid& nid) {
    auto ni = std::make_unique<Ni>();
    credit_views_.push_back(std::make_unique<Ni::CreditView[]>(kShardsMax));
    ni->nid = nid;
    ni->net = nid.net();
    ni->number = static_cast<std::uint16_t>(nis_.size());
    ni->tunables = setup.tunables;
    ni->tx_credits = credit_views_.back().get();
    const std::size_t index = nis_.size() - 1;  // lo is first and on every shard
    for (unsigned i = 0; i < setup.shards; ++i)
      ni->shards[i] = nis_.empty() || index >= setup.served.size() || setup.served[index][i];
    ni->plugged.set(true);
    nis_.push_back(std::move(ni));
  };
  add_ni(ShardCore::kLoopbackNid);
  local_.loopback = nis_[0].get();
  for (const Nid& nid : setup.nids) {
    add_ni(nid);
    local_.nis.push_back(nis_.back().get());
  }
  ni_pointers_ = local_.nis;
  std::size_t first = 0;
  for (std::size_t i = 0; i < ni_pointers_.size(); ++i) {
    if (i + 1 < ni_pointers_.size() && ni_pointers_[i + 1]->net == ni_pointers_[i]->net) continue;
    local_.nets.push_back({.id = ni_pointers_[i]->net,
                           .number = static_cast<std::uint16_t>(local_.nets.size()),
                           .nis = std::span(ni_pointers_).subspan(first, i + 1 - first),
                           .priority = &priorities_[local_.nets.size()]});
    local_.nets.back().priority->set(kPriorityLowest);
    first = i + 1;
  }
  shared_.local.store(&local_);
  shared_.routes.store(&routes_);
  directory_ = std::make_unique<PeerDirectory>(PeerLimits{.peers = setup.peers,
                                                          .peer_nis = setup.peers,
                                                          .strangers_per_second = 1'000'000'000,
                                                          .kept_for_own = setup.kept_for_own},
                                               qsbr_, *placement_, *this);
  directory_->set_local(local_);
  shared_.directory = directory_.get();

  for (unsigned i = 0; i < setup.shards; ++i) {
    auto& shard = *shards_.emplace_back(
        std::make_unique<Shard>(shared_, static_cast<ShardId>(i), 0, Instant{}));
    for (const auto& ni : nis_) {
      if (!ni->shards[i]) continue;
      const bool loopback = ni->nid.is_loopback();
      NiPort& port = shard.add_port(*ni, loopback ? 0 : setup.tunables.credits);
      if (loopback) {
        lnds_.push_back(std::make_unique<LoopbackLnd>(port, *setup.arenas, setup.limits.messages));
      } else {
        lnds_.push_back(make_lnd(port, static_cast<ShardId>(i)));
      }
      port.attach(*lnds_.back());
    }
  }
  shards_[0]->host(*this, *this);
}

CoreNode::~CoreNode() = default;

void CoreNode::forget_ni(Ni& ni) {
  std::erase(local_.nis, &ni);
  for (Net& net : local_.nets) {
    if (net.id != ni.net) continue;
    const auto from = std::ranges::find(ni_pointers_, net.nis.front());
    const auto to = from + static_cast<std::ptrdiff_t>(net.nis.size());
    net.nis = {from, std::remove(from, to, &ni)};
  }
  directory_->set_local(local_);
  directory_->remove_local(ni);
}

PeerNi& CoreNode::add_peer(const Nid& nid, std::optional<ShardId> home) {
  placement_->forced = home;
  const auto made = directory_->create_by_traffic({nid}, now_);
  placement_->forced.reset();
  PLNET_CHECK(made.has_value(), "there is room for the peers of a test");
  directory_->commit();
  Peer* const peer = (*made)->peer.load();
  record_of(*peer).add_state(kPeerDiscovered | kPeerNidsUpToDate);
  return **made;
}

unsigned CoreNode::turn(Instant now) {
  unsigned work = 0;
  for (unsigned i = 0; i < shards(); ++i)
    work += turn_shard(i, now);
  return work + step_directory(now);
}

unsigned CoreNode::turn_shard(unsigned number, Instant now) {
  if (number == 0) now_ = now;  // shards may have threads of their own
  shards_[number]->begin_turn(now);
  const unsigned work = shards_[number]->poll(now);
  qsbr_.quiescent(readers_[number]);
  return work;
}

unsigned CoreNode::step_directory(Instant now) {
  now_ = now;
  const unsigned work = directory_->step(64);
  faults_.step();
  for (Parcel* const parcel : std::exchange(wanting_, {}))
    answer_want(*parcel);
  return work;
}

void CoreNode::settle(Instant now, unsigned turns) {
  for (unsigned quiet = 0; turns > 0 && quiet < 3; --turns)
    quiet = turn(now) == 0 ? quiet + 1 : 0;
}

void CoreNode::set_lazy(PortalId portal, bool lazy) {
  portals_.set_lazy(portal, lazy);
  shared_.lazy_attached[portals_.home(portal)].set.store(true, std::memory_order_release);
}

void CoreNode::delete_peer(const Nid& nid) {
  PeerRecord* const peer = directory_->peer_of(nid);
  if (peer == nullptr) return;
  directory_->destroy(*peer);
  directory_->commit();
}

bool CoreNode::quiet() const {
  return wanting_.empty() && free_errands_.size() == errands_.size() && !directory_->waiting();
}

void CoreNode::want_peer(Parcel& parcel, const WantedPeer& /*wanted*/) {
  answer_want(parcel);
}

void CoreNode::answer_want(Parcel& parcel) {
  const auto made = directory_->create_by_traffic(wanted_peer(parcel), now_);
  if (!made && made.error() == Errc::kAgain) return wanting_.push_back(&parcel);
  parcel.outcome = {};
  if (made) {
    directory_->commit();
    record_of(*(*made)->peer.load()).add_state(kPeerDiscovered | kPeerNidsUpToDate);
  } else {
    parcel.outcome = std::unexpected(made.error());
  }
  shards_[0]->wait_over(parcel);
}

void CoreNode::discover(Message& message, const Nid& nid) {
  if (holds_discoveries) return held_discoveries.push_back(&message);
  PeerNi* const ni = directory_->find(nid);
  if (ni != nullptr) {
    record_of(*ni->peer.load()).add_state(kPeerDiscovered | kPeerNidsUpToDate);
  }
  shards_[0]->wait_over(message);
}

void CoreNode::release_peer_ni(PeerNi& ni) {
  if (free_errands_.empty()) free_errands_.push_back(&errands_.emplace_back());
  Errand& errand = *free_errands_.back();
  free_errands_.pop_back();
  shards_[0]->releaser().begin(errand, ni);
}

void CoreNode::released(Errand& errand) {
  free_errands_.push_back(&errand);
  directory_->peer_ni_released(*errand.peer_ni);
}

void CoreNode::on_peer_gone(Peer& /*peer*/) {}

}  // namespace plnet::mocks

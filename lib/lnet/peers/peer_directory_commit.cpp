// SPDX-License-Identifier: BSD-3-Clause
// Publishes the views of changed peers, and frees removed ones after readers have passed.
#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

using Id = PeerTable::Id;

void PeerDirectory::mark_changed(PeerRecord& peer) {
  PLNET_CHECK(!peer.dead, "a peer that goes publishes no view");
  if (!peer.linked()) changed_.push_back(peer);
}

void PeerDirectory::fill(PeerRecord& peer, ViewBlock& block) {
  PLNET_CHECK(peer.ni_count <= kViewSizes[block.size_class], "the view has room for all");
  std::uint16_t nis = 0;
  std::uint16_t nets = 0;
  peer.nets.for_each([&](PeerNetRecord& net) {
    block.nets[nets++] = {.net = net.net,
                          .number = nets_.index_of(&net),
                          .priority = net.priority,
                          .first = nis,
                          .count = net.count};
    net.nis.for_each([&](PeerNiRecord& ni) { block.nis[nis++] = &ni; });
  });
  PLNET_CHECK(nis == peer.ni_count, "the view lists every interface");
  block.view = {.primary = peer.primary, .nets = {block.nets, nets}, .nis = {block.nis, nis}};
}

bool PeerDirectory::publish(PeerRecord& peer) {
  PLNET_CHECK(peer.block != nullptr && !peer.dead, "a living peer has a view");
  ViewBlock* fresh = views_.take(peer.view_class);
  if (fresh == nullptr) return false;
  fill(peer, *fresh);
  peer.publish(fresh->view);
  views_.retire(peer.block);
  peer.block = fresh;
  counters_.add(Id::kViews);
  return true;
}

void PeerDirectory::release_peer_ni(PeerNiRecord& ni) {
  PLNET_CHECK(ni.stage == PeerNiStage::kDetached, "a peer NI leaves the directory after its peer");
  ni.leaving.set(true);
  ni.stage = PeerNiStage::kLeaving;
  ++record_of(*ni.peer.load(std::memory_order_relaxed)).leaving_nis;
  ni.grace = qsbr_.begin_grace();
  leaving_.push_back(ni);
}

void PeerDirectory::commit() {
  IntrusiveList<PeerRecord> late;
  while (PeerRecord* peer = changed_.pop_front()) {
    if (publish(*peer)) continue;
    counters_.add(Id::kViewsLate);
    late.push_back(*peer);
  }
  changed_.splice_back(late);
  // Unpublished changes leave old views with peer NIs that have left, so these must stay.
  if (!changed_.empty()) return;
  while (PeerNiRecord* ni = detached_.pop_front())
    release_peer_ni(*ni);
  while (PeerNetRecord* net = nets_left_.pop_front()) {
    net->grace = qsbr_.begin_grace();
    nets_gone_.push_back(*net);
  }
  dead_.for_each([this](PeerRecord& peer) {
    if (peer.grace == 0) peer.grace = qsbr_.begin_grace();
  });
}

unsigned PeerDirectory::step_nis(unsigned budget) {
  unsigned done = 0;
  while (done < budget && !leaving_.empty() && qsbr_.passed(leaving_.front()->grace)) {
    PeerNiRecord* ni = leaving_.pop_front();
    PLNET_CHECK(ni->leaving.get(), "no lookup finds a peer NI that its home gives up");
    ni->stage = PeerNiStage::kReleasing;
    releasing_.push_back(*ni);
    hooks_.release_peer_ni(*ni);
    ++done;
  }
  while (done < budget && !gone_.empty() && qsbr_.passed(gone_.front()->grace)) {
    PeerNiRecord* ni = gone_.pop_front();
    PLNET_CHECK(ni->stage == PeerNiStage::kGone,
                "a peer NI is freed after its home has released it");
    std::uint32_t& leaving_nis = record_of(*ni->peer.load(std::memory_order_relaxed)).leaving_nis;
    PLNET_CHECK(leaving_nis > 0, "interfaces that still name a peer are counted");
    --leaving_nis;
    unmake(*ni);
    ++done;
  }
  return done;
}

void PeerDirectory::peer_ni_released(PeerNi& released) {
  PeerNiRecord& ni = record_of(released);
  PLNET_CHECK(ni.stage == PeerNiStage::kReleasing, "released by its home when asked, and once");
  const auto erased = table_.erase(ni.nid);
  PLNET_CHECK(erased && *erased == &released, "the table has every interface until now");
  ni.unlink();
  ni.stage = PeerNiStage::kGone;
  ni.grace = qsbr_.begin_grace();
  gone_.push_back(ni);
}

unsigned PeerDirectory::step_nets(unsigned budget) {
  unsigned done = 0;
  for (; done < budget && !nets_gone_.empty() && qsbr_.passed(nets_gone_.front()->grace); ++done) {
    PeerNetRecord* const net = nets_gone_.pop_front();
    PLNET_CHECK(net->nis.empty() && net->count == 0, "a network that goes has no interface");
    nets_.give(net);
  }
  return done;
}

// Interfaces leave in any order, so the first peer does not hold up the others.
unsigned PeerDirectory::step_dead(unsigned budget) {
  unsigned done = 0;
  for (std::size_t look = std::min<std::size_t>(budget, dead_count_); look > 0; --look) {
    PeerRecord* peer = dead_.pop_front();
    PLNET_CHECK(peer->dead && peer->ni_count == 0, "a peer that is freed has no interface");
    const bool held =
        peer->grace == 0 || peer->leaving_nis > 0 || peer->holds > 0 || peer->gateway_refs > 0;
    if (held || !qsbr_.passed(peer->grace)) {
      dead_.push_back(*peer);
      continue;
    }
    views_.retire(peer->block);
    views_.cancel(peer->view_class);
    peer->block = nullptr;
    accounts_.close(peer->number);
    peers_.give(peer);
    --dead_count_;
    ++done;
  }
  return done;
}

unsigned PeerDirectory::step(unsigned budget) {
  auto done = static_cast<unsigned>(views_.reclaim(budget));
  if (!changed_.empty()) commit();
  done += step_nis(budget) + step_nets(budget) + step_dead(budget);
  return done;
}

bool PeerDirectory::waiting() const {
  return !changed_.empty() || !leaving_.empty() || !gone_.empty() || !nets_gone_.empty() ||
         dead_count_ > 0 || views_.retired() > 0;
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// A peer directory with one reader, homes that answer on request of the test, and a local network.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/peers/peer_directory.hpp"
#include "lib/lnet/peers/peer_rules.hpp"
#include "tests/unit/lib/lnet/nid.hpp"

namespace plnet::lnet {

// The n-th NID of a tcp network.
inline Nid tcp(std::uint32_t n, std::uint16_t number = 0) {
  return Nid::of(NetType::kTcp, number, 0x0a000000 + n);
}

class LocalNets {
 public:
  Ni& add(const Nid& own) {
    nis_.push_back(std::make_unique<Ni>());
    Ni& ni = *nis_.back();
    ni.nid = own;
    ni.net = own.net();
    ni.number = static_cast<std::uint16_t>(nis_.size());
    ni.shards.set(0);
    view_ = {};
    lists_.clear();
    for (const auto& each : nis_) {
      auto list = std::ranges::find(lists_, each->net, [](auto& l) { return l->front()->net; });
      if (list == lists_.end()) list = lists_.insert(lists_.end(), std::make_unique<List>());
      (*list)->push_back(each.get());
    }
    for (const auto& list : lists_) {
      view_.nets.push_back({.id = list->front()->net, .nis = *list});
      view_.nis.insert(view_.nis.end(), list->begin(), list->end());
    }
    return ni;
  }
  [[nodiscard]] const LocalView& view() const { return view_; }

 private:
  using List = std::vector<Ni*>;
  std::vector<std::unique_ptr<Ni>> nis_;
  std::vector<std::unique_ptr<List>> lists_;
  LocalView view_;
};

class PeerRig : public ::testing::Test, public PeerDirectoryHooks {
 protected:
  static PeerLimits small_limits() {
    return {.peers = 64,
            .peer_nis = 512,
            .peers_over_2 = 16,
            .peers_over_8 = 8,
            .peers_over_40 = 2,
            .strangers_per_second = 1000,
            .kept_for_own = 4};
  }
  explicit PeerRig(const PeerLimits& limits = small_limits())
      : placement_(CptHash(1), {{0, 1}}), directory_(limits, qsbr_, placement_, *this) {
    local_.add(nid("10.0.0.250@tcp"));
    directory_.set_local(local_.view());
    reader_ = qsbr_.register_reader().value();
    qsbr_.online(reader_);
  }

  void release_peer_ni(PeerNi& ni) override {
    asked_.push_back(&ni);
    if (homes_answer_) directory_.peer_ni_released(ni);
  }
  void on_peer_gone(Peer& peer) override { gone_.push_back(peer.number); }
  void on_peer_lost_ni(Peer& peer) override { lost_ni_.push_back(peer.number); }
  void on_gateway_moved(Peer& from, Peer& to) override {
    moved_.emplace_back(from.number, to.number);
  }

  void settle() {
    directory_.commit();
    for (int i = 0; i < 8; ++i) {
      qsbr_.quiescent(reader_);
      directory_.step(1000);
    }
  }
  PeerNi* traffic(const Nid& of) {
    const auto made = directory_.create_by_traffic({of}, now_);
    EXPECT_TRUE(made.has_value());
    return made.value_or(nullptr);
  }
  PeerRecord& peer_of(const Nid& of) {
    PeerRecord* peer = directory_.peer_of(of);
    EXPECT_NE(peer, nullptr);
    return *peer;
  }
  // All NIDs that readers see for the peer of this NID.
  std::vector<Nid> nids_seen(const Nid& of) {
    std::vector<Nid> nids;
    const PeerNi* ni = directory_.find(of);
    if (ni == nullptr) return nids;
    for (const PeerNi* each : ni->peer.load()->seen().nis)
      nids.push_back(each->nid);
    return nids;
  }
  std::uint64_t count(PeerTable::Id id) { return directory_.counters().get(id); }

  Qsbr qsbr_{4, 64};
  HashPlacement placement_;
  LocalNets local_;
  Instant now_{std::chrono::hours(1)};
  bool homes_answer_ = true;
  std::vector<PeerNi*> asked_;
  std::vector<std::uint32_t> gone_;
  std::vector<std::uint32_t> lost_ni_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moved_;
  PeerDirectory directory_;
  Qsbr::Reader reader_ = 0;
};

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/local_networks.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

namespace {

// Entries of a table by shard, up to the last shard that serves the NI.
std::size_t room_for(const ShardSet& shards) {
  std::size_t room = kShardsMax;
  while (room > 1 && !shards[room - 1])
    --room;
  return room;
}

}  // namespace

LocalNetworks::LocalNetworks(Qsbr& qsbr, unsigned shards)
    : qsbr_(qsbr), loopback_(std::make_unique<Place>()) {
  PLNET_CHECK(shards > 0 && shards <= kShardsMax, "a node has 1 to kShardsMax shards");
  Ni& lo = loopback_->ni;
  lo.nid = Nid::of(NetType::kLoopback, 0, 0);
  lo.net = lo.nid.net();
  for (unsigned shard = 0; shard < shards; ++shard)
    lo.shards.set(shard);
  loopback_->tx_credits = std::make_unique<Ni::CreditView[]>(shards);
  lo.tx_credits = loopback_->tx_credits.get();
  publish();
}

LocalNetworks::~LocalNetworks() = default;

std::uint16_t LocalNetworks::free_number() const {
  const auto has = [](const auto& places, std::uint16_t number) {
    return std::ranges::any_of(places,
                               [number](const auto& place) { return place->ni.number == number; });
  };
  std::uint16_t number = 1;  // 0 is that of 0@lo
  while (has(places_, number) || has(leaving_, number))
    ++number;
  PLNET_CHECK(number < kNisMax, "the number of an NI is dense");
  return number;
}

LocalNetworks::Priority& LocalNetworks::priority_of(NetId net) {
  for (const auto& there : priorities_) {
    if (there->net == net) return *there;
  }
  const auto is_used = [](const auto& places, NetId of) {
    return std::ranges::any_of(places, [of](const auto& place) { return place->ni.net == of; });
  };
  // Reuses the number of a removed net, since shards have tables by number.
  for (const auto& there : priorities_) {
    if (is_used(places_, there->net) || is_used(leaving_, there->net)) continue;
    there->net = net;
    there->value.set(kPriorityLowest);
    return *there;
  }
  PLNET_CHECK(priorities_.size() < kNisMax, "shards have tables by number of the network");
  priorities_.push_back(std::make_unique<Priority>());
  priorities_.back()->net = net;
  priorities_.back()->number = static_cast<std::uint16_t>(priorities_.size() - 1);
  return *priorities_.back();
}

Outcome<Ni*> LocalNetworks::add(const NiSetup& config) {
  const Nid& nid = config.nid;
  if (nid.is_any() || !nid.is_well_formed() || nid.is_of(NetType::kLoopback))
    return failure(Errc::kInvalid, "an NI needs a NID of its own, not " + text_of(nid));
  if (view().ni(nid) != nullptr) return failure(Errc::kExists, text_of(nid) + " is there");
  if (places_.size() + leaving_.size() + 1 >= kNisMax)
    return failure(Errc::kTooBig, "no more NIs on one node");
  auto place = std::make_unique<Place>();
  Ni& ni = place->ni;
  ni.nid = nid;
  ni.net = nid.net();
  ni.number = free_number();
  ni.cpts = config.cpts;
  ni.device_cpt = config.device_cpt;
  ni.tunables = config.tunables;
  ni.interfaces = config.interfaces;
  PLNET_CHECK(config.shards.any(), "some shard serves each NI");
  ni.shards = config.shards;
  ni.lnd_timeout.set(config.lnd_timeout);
  ni.lnd_tunables = config.lnd_tunables;
  ni.incarnation = config.incarnation;
  place->tx_credits = std::make_unique<Ni::CreditView[]>(room_for(config.shards));
  ni.tx_credits = place->tx_credits.get();
  places_.push_back(std::move(place));
  publish();
  PLNET_CHECK(view().ni(nid) == &ni && view().net(ni.net) != nullptr,
              "an NI that was added is in the view");
  return &ni;
}

Outcome<Ni*> LocalNetworks::remove(const Nid& nid) {
  const auto at =
      std::ranges::find_if(places_, [&](const auto& place) { return place->ni.nid == nid; });
  if (at == places_.end()) return failure(Errc::kNotFound, text_of(nid) + " is none of ours");
  std::unique_ptr<Place> place = std::move(*at);
  places_.erase(at);
  publish();
  place->grace = qsbr_.begin_grace();
  leaving_.push_back(std::move(place));
  PLNET_CHECK(view().ni(nid) == nullptr, "an NI that was removed is in no view");
  return &leaving_.back()->ni;
}

bool LocalNetworks::readers_passed(Ni& ni) {
  const auto at =
      std::ranges::find_if(leaving_, [&](const auto& place) { return &place->ni == &ni; });
  PLNET_CHECK(at != leaving_.end(), "an NI that was removed");
  return qsbr_.passed((*at)->grace);
}

void LocalNetworks::released(Ni& ni) {
  const auto at =
      std::ranges::find_if(leaving_, [&](const auto& place) { return &place->ni == &ni; });
  PLNET_CHECK(at != leaving_.end() && !(*at)->released, "an NI that was removed, once");
  (*at)->released = true;
  (*at)->grace = qsbr_.begin_grace();
}

void LocalNetworks::step() {
  std::erase_if(old_, [this](const auto& old) { return qsbr_.passed(old->grace); });
  std::erase_if(leaving_, [this](const auto& place) {
    return place->released && qsbr_.passed(place->grace);
  });
}

// Networks are in the order of their first NI.
void LocalNetworks::publish() {
  auto fresh = std::make_unique<Published>();
  std::vector<NetId> nets;
  for (const auto& place : places_) {
    const auto at = std::ranges::find(nets, place->ni.net);
    const auto index = static_cast<std::size_t>(at - nets.begin());
    if (at == nets.end()) {
      nets.push_back(place->ni.net);
      fresh->nis_of.emplace_back();
    }
    fresh->nis_of[index].push_back(&place->ni);
  }
  LocalView& view = fresh->view;
  for (std::size_t i = 0; i < nets.size(); ++i) {
    PLNET_CHECK(!fresh->nis_of[i].empty(), "a network has an NI");
    Priority& priority = priority_of(nets[i]);
    view.nets.push_back({.id = nets[i],
                         .number = priority.number,
                         .nis = fresh->nis_of[i],
                         .priority = &priority.value});
    view.nis.insert(view.nis.end(), fresh->nis_of[i].begin(), fresh->nis_of[i].end());
  }
  view.loopback = &loopback_->ni;
  PLNET_CHECK(view.nis.size() == places_.size(), "every NI is in the view");
  published_.store(&view, std::memory_order_release);
  if (current_ != nullptr) {
    current_->grace = qsbr_.begin_grace();
    old_.push_back(std::move(current_));
  }
  current_ = std::move(fresh);
}

}  // namespace plnet::lnet

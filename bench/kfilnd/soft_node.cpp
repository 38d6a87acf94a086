// SPDX-License-Identifier: BSD-3-Clause
#include "bench/kfilnd/soft_node.hpp"

#include "lib/kfilnd/tunables.hpp"
#include "lib/kfilnd/wire.hpp"

namespace plnet::bench {

SoftFabric::SoftFabric(unsigned nics) {
  std::vector<cassini::soft::Nic*> made;
  for (unsigned i = 0; i < nics; ++i)
    made.push_back(&fabric_.add({.address = kFirstNic + i}));
  backend_ = std::make_unique<cassini::soft::SoftBackend>(fabric_, std::move(made));
}

SoftLeg::SoftLeg(SoftFabric& fabric, unsigned nic)
    : fabric_(fabric),
      nic_(nic),
      nid_(lnet::Nid::of(lnet::NetType::kKfi, 0, SoftFabric::kFirstNic + nic)) {
  const kfilnd::Tunables tunables;
  receive_memory_.resize(std::size_t{kfilnd::receive_buffer_bytes(tunables)} *
                         static_cast<std::size_t>(tunables.immediate_rx_buf_count));
}

std::unique_ptr<kfilnd::KfiLnd> SoftLeg::make_lnd(lnet::NiPort& port, ArenaTable& arenas) {
  const auto receives =
      arenas.add({.base = receive_memory_.data(), .size = receive_memory_.size()});
  PLNET_CHECK(receives.has_value(), "one more arena fits");
  device_ = cassini::Device::open(fabric_.backend(), {.id = nic_, .pid = kfilnd::service_of(nid_)},
                                  arenas)
                .value();
  endpoint_ = cassini::Endpoint::create(
                  *device_, {.limits = {.operations_max = kfilnd::operations_max({})}}, relay_)
                  .value();
  auto lnd = std::make_unique<kfilnd::KfiLnd>(
      kfilnd::KfiLndConfig{
          .nid = nid_,
          .arenas = &arenas,
          .receive_memory = {{*receives, 0}, static_cast<std::uint32_t>(receive_memory_.size())},
          .start = clock_.now()},
      port, *endpoint_);
  relay_.attach(*lnd);
  return lnd;
}

SoftNode::SoftNode(SoftFabric& fabric, const SoftNodeSetup& setup)
    : memory_(setup.memory_bytes), leg_(fabric, setup.nic) {
  PLNET_CHECK(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value(), "room");
  core_ = std::make_unique<mocks::CoreNode>(
      mocks::CoreNodeSetup{
          .nids = {leg_.nid()},
          .limits = {.peer_ports = 16,
                     .extra_links = 16,
                     .messages = 2048,
                     .receives = 2048,
                     .descriptors = setup.descriptors,
                     .match_entries = setup.descriptors},
          .peers = 16,
          .tunables = {.peer_credits = setup.peer_credits,
                       .credits = static_cast<std::int32_t>(kfilnd::Tunables{}.credits)},
          .arenas = &arenas_},
      [this](lnet::NiPort& port, lnet::ShardId /*shard*/) { return leg_.make_lnd(port, arenas_); });
}

void SoftNode::turn() {
  const Instant now = clock_.now();
  core_->shard(0).begin_turn(now);
  (void)leg_.poll(now);
  if (resident_ != nullptr) (void)resident_->poll(now);
  (void)core_->turn_shard(0, now);
}

// The offset comes with the request, so that each PUT lands at the same place.
void SoftNode::attach_memory(lnet::PortalId portal, std::uint32_t length) {
  target_ = {{.at = {0, 0}, .length = length}};
  const auto attached = core_->shard(0).attach({.portal = portal, .ignore_bits = ~0ULL},
                                               {.fragments = target_,
                                                .length = length,
                                                .options = lnet::kMdPut | lnet::kMdManageRemote,
                                                .handler = this});
  PLNET_CHECK(attached.has_value(), "there is room for one match entry");
}

}  // namespace plnet::bench

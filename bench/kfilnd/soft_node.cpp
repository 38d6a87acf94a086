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

SoftNode::SoftNode(SoftFabric& fabric, const SoftNodeSetup& setup)
    : nid_(lnet::Nid::of(lnet::NetType::kKfi, 0, SoftFabric::kFirstNic + setup.nic)),
      memory_(setup.memory_bytes) {
  const kfilnd::Tunables tunables;
  const auto buffers = static_cast<std::uint32_t>(tunables.immediate_rx_buf_count);
  receive_memory_.resize(std::size_t{kfilnd::receive_buffer_bytes(tunables)} * buffers);
  const auto arena = arenas_.add({.base = memory_.data(), .size = memory_.size()});
  const auto receives =
      arenas_.add({.base = receive_memory_.data(), .size = receive_memory_.size()});
  PLNET_CHECK(arena && receives, "two arenas fit");
  device_ = cassini::Device::open(fabric.backend(),
                                  {.id = setup.nic, .pid = kfilnd::service_of(nid_)}, arenas_)
                .value();
  endpoint_ =
      cassini::Endpoint::create(
          *device_, {.limits = {.operations_max = kfilnd::operations_max(tunables)}}, relay_)
          .value();
  core_ = std::make_unique<mocks::CoreNode>(
      mocks::CoreNodeSetup{.nids = {nid_},
                           .limits = {.peer_ports = 16,
                                      .extra_links = 16,
                                      .messages = 2048,
                                      .receives = 2048,
                                      .descriptors = setup.descriptors,
                                      .match_entries = setup.descriptors},
                           .peers = 16,
                           .tunables = {.peer_credits = setup.peer_credits,
                                        .credits = static_cast<std::int32_t>(tunables.credits)},
                           .arenas = &arenas_},
      [&](lnet::NiPort& port, lnet::ShardId /*shard*/) {
        auto lnd = std::make_unique<kfilnd::KfiLnd>(
            kfilnd::KfiLndConfig{
                .nid = nid_,
                .arenas = &arenas_,
                .receive_memory = {{*receives, 0},
                                   static_cast<std::uint32_t>(receive_memory_.size())},
                .start = clock_.now()},
            port, *endpoint_);
        relay_.attach(*lnd);
        lnd_ = lnd.get();
        return lnd;
      });
}

void SoftNode::turn() {
  const Instant now = clock_.now();
  core_->shard(0).begin_turn(now);
  (void)endpoint_->poll(now);
  if (resident_ != nullptr) (void)resident_->poll(now);
  (void)core_->turn_shard(0, now);
}

}  // namespace plnet::bench

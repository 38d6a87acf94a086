// SPDX-License-Identifier: BSD-3-Clause
// The parts and the memory of the smallest LNet node.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/arena.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::node {

struct SmallNode {
  // One CPT for each shard, or one for all.
  explicit SmallNode(unsigned shards, std::size_t messages, bool one_cpt = false) : bells(shards) {
    setup.cpt_of_shard.clear();
    for (unsigned i = 0; i < shards; ++i) {
      doorbells.push_back(&bells[i]);
      setup.cpt_of_shard.push_back(one_cpt ? std::uint16_t{0} : static_cast<std::uint16_t>(i));
    }
    setup.shard_limits = {.peer_ports = 16,
                          .extra_links = 4,
                          .messages = messages,
                          .receives = messages,
                          .descriptors = 64,
                          .match_entries = 64};
    setup.coordinator.peers = {.peers = 8,
                               .peer_nis = 16,
                               .peers_over_2 = 2,
                               .peers_over_8 = 2,
                               .peers_over_40 = 2,
                               .kept_for_own = 0};
    setup.coordinator.exchanges = 4;
    bytes.resize(lnet::Coordinator::memory_bytes(setup.coordinator));
    EXPECT_TRUE(arenas.add({.base = bytes.data(), .size = bytes.size()}));
    setup.arenas = &arenas;
    setup.control_memory = {.at = {.arena = 0, .offset = 0}, .bytes = bytes};
    setup.doorbells = doorbells;
  }

  std::vector<std::byte> bytes;
  ArenaTable arenas;
  std::vector<SilentDoorbell> bells;
  std::vector<Doorbell*> doorbells;
  lnet::NodeSetup setup;
};

// A node that is never turned: steps run on it directly.
struct StillNode {
  SmallNode small{1, 8};
  std::unique_ptr<lnet::Node> node = std::make_unique<lnet::Node>(small.setup);
};

inline lnet::Nid nid_of(const char* text) {
  return lnet::parse_nid(text).value();
}

}  // namespace plnet::node

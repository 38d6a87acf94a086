// SPDX-License-Identifier: BSD-3-Clause
// A core of one shard without peers on an unreachable network, and memory for its users: all
// messages use loopback.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "drivers/net/null/device.hpp"
#include "lib/selftest/work_memory.hpp"
#include "tests/mocks/core_node.hpp"

namespace plnet::selftest {

class LoneCore {
 public:
  // `records`: the number of descriptors and of match entries.
  LoneCore(std::size_t memory_bytes, std::size_t records)
      : bytes_(memory_bytes),
        node({.nids = {lnet::Nid::of(lnet::NetType::kTcp, 0, 1)},
              .limits = {.peer_ports = 16,
                         .extra_links = 16,
                         .messages = 256,
                         .receives = 256,
                         .descriptors = records,
                         .match_entries = records},
              .peers = 16,
              .arenas = with_memory()},
             [this](lnet::NiPort& port, lnet::ShardId /*shard*/) {
               return std::make_unique<drivers::NullLnd>(drivers::NullConfig{}, port, random_);
             }) {}

 private:
  const ArenaTable* with_memory() {
    const ArenaId id = arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).value();
    memory = {{id, 0}, bytes_};
    return &arenas_;
  }

  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  Random random_{1};

 public:
  WorkMemory memory;
  mocks::CoreNode node;
};

}  // namespace plnet::selftest

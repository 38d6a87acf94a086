// SPDX-License-Identifier: BSD-3-Clause
// Two ends on one RDMA device. Each has its own adapter and arenas, so keys of one end are invalid
// at the other. The environment names addresses of the device: only the guests of tests/e2e have
// one.
#pragma once

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "drivers/net/mlx/adapter.hpp"
#include "drivers/net/mlx/device.hpp"

namespace plnet::mlx {

inline constexpr std::uint16_t kPort = 987;
inline constexpr Duration kPatience = std::chrono::seconds(120);  // emulated machines are slow

// In host byte order. Nothing if PLNET_RDMA_ADDRESSES does not have two.
inline std::optional<std::array<std::uint32_t, 2>> device_addresses() {
  const char* const words = std::getenv("PLNET_RDMA_ADDRESSES");
  std::istringstream text(words == nullptr ? "" : words);
  std::array<std::uint32_t, 2> addresses{};
  for (std::uint32_t& address : addresses) {
    std::string word;
    in_addr parsed{};
    if (!(text >> word) || inet_pton(AF_INET, word.c_str(), &parsed) != 1) return std::nullopt;
    address = ntohl(parsed.s_addr);
  }
  return addresses;
}

inline Instant time_now() {
  return Instant(std::chrono::steady_clock::now().time_since_epoch());
}

// The memory of one end, in one arena.
struct EndMemory {
  explicit EndMemory(std::uint64_t size)
      : bytes(std::make_unique_for_overwrite<std::byte[]>(size)),
        arena(arenas.add({.base = bytes.get(), .size = size}).value()) {}

  std::unique_ptr<std::byte[]> bytes;
  ArenaTable arenas;
  ArenaId arena;
};

// One end: a verbs driver with its adapter and memory.
struct End {
  End(std::uint32_t address, const ArenaTable& arenas, std::shared_ptr<EventDesk> node_desk,
      o2iblnd::VerbsEvents& events)
      : desk(std::move(node_desk)) {
    auto opened = Adapter::open(address, arenas, desk);
    EXPECT_TRUE(opened.has_value()) << opened.error().what;
    adapter = std::move(*opened);
    auto made = Device::open(*adapter, {.connections_max = 64}, events);
    EXPECT_TRUE(made.has_value()) << made.error().what;
    device = std::move(*made);
  }

  Device& add_neighbour(o2iblnd::VerbsEvents& events) {
    auto made = Device::open(*adapter, {.connections_max = 64}, events);
    EXPECT_TRUE(made.has_value()) << made.error().what;
    neighbour = std::move(*made);
    return *neighbour;
  }

  unsigned poll(Instant now) {
    const unsigned work = desk->poll(now) + device->poll(now);
    return neighbour == nullptr ? work : work + neighbour->poll(now);
  }

  std::shared_ptr<EventDesk> desk;  // shared by both ends, as by the adapters of one node
  std::unique_ptr<Adapter> adapter;
  std::unique_ptr<Device> device;
  std::unique_ptr<Device> neighbour;  // of another shard
};

class MlxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!device_addresses()) GTEST_SKIP() << "PLNET_RDMA_ADDRESSES names no two addresses of one";
  }
};

}  // namespace plnet::mlx

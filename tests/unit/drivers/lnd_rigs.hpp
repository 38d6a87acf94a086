// SPDX-License-Identifier: BSD-3-Clause
// Pairs of nodes for the conformance suite and the fault tests: null echo, mock streams, mock RDMA.
#pragma once

#include <memory>
#include <vector>

#include "drivers/net/null/device.hpp"
#include "tests/conformance/lnd_conformance.hpp"
#include "tests/mocks/mock_rdma_lnd.hpp"
#include "tests/mocks/mock_stream_lnd.hpp"

namespace plnet::testrig {

inline constexpr std::uint64_t kNodeBytes = 4U << 20;

// Memory for two nodes.
struct Memory {
  Memory() : bytes(2 * kNodeBytes) {
    id = arenas.add({.base = bytes.data(), .size = bytes.size()}).value();
  }
  std::vector<std::byte> bytes;
  ArenaTable arenas;
  ArenaId id = kNoArena;
};

inline lnet::Nid nid(lnet::NetType type, std::uint32_t address) {
  return lnet::Nid::of(type, 0, address);
}

inline mocks::FakeCoreConfig core_config(const conformance::LndRigOptions& options,
                                         const Memory& memory, const lnet::Nid& name,
                                         unsigned index) {
  return {.nid = name,
          .arenas = &memory.arenas,
          .memory = {memory.id, index * kNodeBytes},
          .memory_bytes = kNodeBytes,
          .seed = options.seed * 2 + index,
          .park_percent = options.park_percent,
          .drop_percent = options.drop_percent,
          .park_turns_max = options.park_turns_max};
}

class NullRig final : public conformance::LndRig {
 public:
  NullRig(const conformance::LndRigOptions& options, bool places_replies)
      : core_([&] {
          auto config = core_config(options, memory_, nid(lnet::NetType::kTcp, 1), 0);
          config.check_bytes = false;
          return config;
        }()),
        random_(options.seed),
        lnd_({.mode = drivers::NullMode::kEcho,
              .places_replies = places_replies,
              .in_flight_max = 64,
              .peers_max = 4,
              .arenas = &memory_.arenas},
             core_, random_) {
    core_.attach(lnd_);
  }
  mocks::FakeCore& a() override { return core_; }
  mocks::FakeCore* b() override { return nullptr; }
  lnet::Lnd& lnd_a() override { return lnd_; }
  lnet::Nid nid_b() override { return nid(lnet::NetType::kTcp, 2); }
  void turn(Instant now) override { core_.turn(now); }
  [[nodiscard]] const Memory& memory() const { return memory_; }

 private:
  Memory memory_;
  mocks::FakeCore core_;
  Random random_;
  drivers::NullLnd lnd_;
};

template <class MockLnd, lnet::NetType kType>
class MockRig final : public conformance::LndRig {
 public:
  explicit MockRig(const conformance::LndRigOptions& options)
      : core_a_(core_config(options, memory_, nid(kType, 1), 0)),
        core_b_(core_config(options, memory_, nid(kType, 2), 1)),
        lnd_a_({.nid = nid(kType, 1), .arenas = &memory_.arenas}, network_, core_a_),
        lnd_b_({.nid = nid(kType, 2), .arenas = &memory_.arenas}, network_, core_b_) {
    core_a_.attach(lnd_a_);
    core_b_.attach(lnd_b_);
  }
  mocks::FakeCore& a() override { return core_a_; }
  mocks::FakeCore* b() override { return &core_b_; }
  MockLnd& lnd_a() override { return lnd_a_; }
  MockLnd& lnd_b() { return lnd_b_; }
  bool quiet() override { return lnd_a_.idle() && lnd_b_.idle(); }
  lnet::Nid nid_b() override { return nid(kType, 2); }
  void turn(Instant now) override {
    core_a_.turn(now);
    core_b_.turn(now);
  }
  [[nodiscard]] const Memory& memory() const { return memory_; }

 private:
  Memory memory_;
  typename MockLnd::Network network_;
  mocks::FakeCore core_a_;
  mocks::FakeCore core_b_;
  MockLnd lnd_a_;
  MockLnd lnd_b_;
};
using MockStreamRig = MockRig<mocks::MockStreamLnd, lnet::NetType::kTcp>;
using MockRdmaRig = MockRig<mocks::MockRdmaLnd, lnet::NetType::kO2ib>;

}  // namespace plnet::testrig

// SPDX-License-Identifier: BSD-3-Clause
// The o2ib LND over a real device, checked against the LND contract.
#include "lib/o2iblnd/lnd.hpp"

#include "lib/o2iblnd/verbs_relay.hpp"
#include "tests/conformance/lnd_conformance.hpp"
#include "tests/unit/drivers/mlx/rig.hpp"

namespace plnet::mlx {
namespace {

using o2iblnd::O2ibLnd;
using o2iblnd::O2ibLndConfig;
using MlxLnd = MlxTest;

constexpr std::uint64_t kCoreBytes = 16U << 20U;

lnet::Nid nid_of(std::uint32_t address) {
  return lnet::Nid::of(lnet::NetType::kO2ib, 0, address);
}

O2ibLndConfig small() {
  return {.tunables = {.ntx = 64},
          .peers_max = 16,
          .connections_max = 16,
          .receives_max = 64,
          .replies_max = 64};
}

class MlxNode {
 public:
  MlxNode(std::uint32_t address, std::shared_ptr<EventDesk> desk,
          const conformance::LndRigOptions& options, O2ibLndConfig config)
      : memory_(kCoreBytes + message_memory_bytes(config)),
        end_(address, memory_.arenas, std::move(desk), relay_),
        core_({.nid = nid_of(address),
               .arenas = &memory_.arenas,
               .memory = {memory_.arena, message_memory_bytes(config)},
               .memory_bytes = kCoreBytes,
               .seed = options.seed * 2 + address,
               .park_percent = options.park_percent,
               .drop_percent = options.drop_percent,
               .park_turns_max = options.park_turns_max}) {
    config.nid = nid_of(address);
    config.incarnation = 1000 + address;
    config.arenas = &memory_.arenas;
    config.message_memory = {memory_.arena, 0};
    config.start = time_now();
    lnd_.emplace(config, core_, *end_.device);
    relay_.attach(*lnd_);
    core_.attach(*lnd_);
    EXPECT_TRUE(lnd_->listen().has_value());
  }
  unsigned turn() {
    const Instant now = time_now();
    return end_.poll(now) + core_.turn(now);
  }
  mocks::FakeCore& core() { return core_; }
  O2ibLnd& lnd() { return *lnd_; }
  [[nodiscard]] const O2ibLnd& lnd() const { return *lnd_; }
  [[nodiscard]] const Device& device() const { return *end_.device; }

 private:
  EndMemory memory_;
  o2iblnd::VerbsRelay relay_;
  End end_;
  mocks::FakeCore core_;
  std::optional<O2ibLnd> lnd_;
};

class MlxRig final : public conformance::LndRig {
 public:
  MlxRig(const conformance::LndRigOptions& options, const O2ibLndConfig& config)
      : a_(addresses_[0], desk_, options, config), b_(addresses_[1], desk_, options, config) {}
  mocks::FakeCore& a() override { return a_.core(); }
  mocks::FakeCore* b() override { return &b_.core(); }
  lnet::Lnd& lnd_a() override { return a_.lnd(); }
  lnet::Nid nid_b() override { return nid_of(addresses_[1]); }
  bool quiet() override { return quiet_turns_ > kQuietTurns && a_.lnd().idle() && b_.lnd().idle(); }
  void turn(Instant /*now*/) override {
    const unsigned work = a_.turn() + b_.turn();
    if (work == 0) (void)sched_yield();
    quiet_turns_ = work == 0 ? quiet_turns_ + 1 : 0;
  }
  [[nodiscard]] unsigned turns_max() const override { return 2'000'000; }
  // Counters other than 0, for failure messages.
  [[nodiscard]] std::string counted() const {
    std::string text;
    for (const MlxNode* const node : {&a_, &b_}) {
      for (const CounterView& view : {node->lnd().counters(), node->device().counters()}) {
        for (std::size_t i = 0; i < view.info.size(); ++i) {
          if (view.value(i) == 0) continue;
          text += std::string(view.info[i].name) + " " + std::to_string(view.value(i)) + "\n";
        }
      }
      text += "\n";
    }
    return text;
  }

 private:
  static constexpr unsigned kQuietTurns = 100;

  std::array<std::uint32_t, 2> addresses_ = device_addresses().value();
  std::shared_ptr<EventDesk> desk_ = EventDesk::open().value();
  MlxNode a_;
  MlxNode b_;
  unsigned quiet_turns_ = 0;
};

void check_all_sizes(const O2ibLndConfig& config) {
  MlxRig rig({}, config);
  const std::array<std::uint32_t, 13> sizes{0,    1,    63,    3976,   3977,   4095,     4096,
                                            4097, 8191, 65536, 131072, 999999, 1U << 20U};
  for (const std::uint32_t size : sizes) {
    rig.a().put(rig.nid_b(), size, true);
    rig.a().get(rig.nid_b(), size);
  }
  ASSERT_TRUE(rig.settle()) << rig.counted();
  rig.expect_no_breach();
  EXPECT_EQ(rig.a().tally().acks, sizes.size()) << rig.counted();
  EXPECT_EQ(rig.a().tally().replies + rig.a().tally().replies_placed, sizes.size());
  EXPECT_GT(rig.a().tally().replies_placed, 0U);
  EXPECT_EQ(rig.b()->tally().puts, sizes.size());
  EXPECT_EQ(rig.a().tally().wrong_bytes + rig.b()->tally().wrong_bytes, 0U);
  EXPECT_EQ(rig.a().tally().failed + rig.b()->tally().failed, 0U);
}

TEST_F(MlxLnd, PutsAndGetsOfAllSizes) {
  check_all_sizes(small());
}

TEST_F(MlxLnd, PutsAndGetsMappedOnDemand) {
  O2ibLndConfig config = small();
  config.tunables.map_on_demand = 2;
  for (const int keeps : {1, 0}) {
    config.tunables.fmr_cache = keeps;
    check_all_sizes(config);
  }
}

// Both sides connect at the same time: one or both connections remain, and every message succeeds.
TEST_F(MlxLnd, BothSidesConnectAtOnce) {
  MlxRig rig({}, small());
  const lnet::Nid nid_a = nid_of(device_addresses().value()[0]);
  for (unsigned i = 0; i < 20; ++i) {
    rig.a().put(rig.nid_b(), 100 * i, true);
    rig.b()->put(nid_a, 100 * i, true);
  }
  ASSERT_TRUE(rig.settle()) << rig.counted();
  rig.expect_no_breach();
  EXPECT_EQ(rig.a().tally().acks, 20U) << rig.counted();
  EXPECT_EQ(rig.b()->tally().acks, 20U);
}

conformance::LndCase make_case(const char* name, const O2ibLndConfig& config) {
  return {
      name,
      [config](const conformance::LndRigOptions& options) -> std::unique_ptr<conformance::LndRig> {
        return std::make_unique<MlxRig>(options, config);
      },
      false};
}

O2ibLndConfig bulk() {
  O2ibLndConfig config = small();
  config.always_bulk = true;
  return config;
}

}  // namespace
}  // namespace plnet::mlx

namespace plnet::conformance {

INSTANTIATE_TEST_SUITE_P(Mlx, LndConformance,
                         testing::Values(mlx::make_case("mlx", mlx::small()),
                                         mlx::make_case("mlx_bulk", mlx::bulk())),
                         [](const auto& which) { return which.param.name; });

}  // namespace plnet::conformance

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/loopback_lnd.hpp"

#include "tests/conformance/lnd_conformance.hpp"

namespace plnet::conformance::loopback_lnd_test {
namespace {

constexpr lnet::Nid kLo = lnet::Nid::of(lnet::NetType::kLoopback, 0, 0);

// One core at both ends.
class LoopbackRig final : public LndRig {
 public:
  explicit LoopbackRig(const LndRigOptions& options, std::size_t in_flight_max = 64)
      : bytes_(16U << 20),
        core_({.nid = kLo,
               .arenas = &arenas_,
               .memory = {arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).value(), 0},
               .memory_bytes = bytes_.size(),
               .seed = options.seed,
               .park_percent = options.park_percent,
               .drop_percent = options.drop_percent,
               .park_turns_max = options.park_turns_max}),
        lnd_(core_, arenas_, in_flight_max) {
    core_.attach(lnd_);
  }
  mocks::FakeCore& a() override { return core_; }
  mocks::FakeCore* b() override { return nullptr; }
  lnet::Lnd& lnd_a() override { return lnd_; }
  lnet::Nid nid_b() override { return kLo; }
  void turn(Instant now) override { core_.turn(now); }

 private:
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  mocks::FakeCore core_;
  lnet::LoopbackLnd lnd_;
};

INSTANTIATE_TEST_SUITE_P(Loopback, LndConformance,
                         testing::Values(LndCase{"lo",
                                                 [](const LndRigOptions& options) {
                                                   return std::make_unique<LoopbackRig>(options);
                                                 }}),
                         testing::PrintToStringParamName());

TEST(LoopbackLnd, CopiesAcrossFragmentsOfEverySize) {
  LoopbackRig rig({});
  for (std::uint32_t length = 0; length < 60; ++length)
    rig.a().put(kLo, length, true);
  rig.a().put(kLo, 1U << 20, true);
  ASSERT_TRUE(rig.settle());
  rig.expect_no_breach();
  EXPECT_EQ(rig.a().tally().puts, 61U);
  EXPECT_EQ(rig.a().tally().acks, 61U);
  EXPECT_EQ(rig.a().tally().wrong_bytes, 0U);
}

TEST(LoopbackLnd, TakesNoMoreThanItHoldsAndKeepsTheOrder) {
  LoopbackRig rig({}, 3);
  for (int i = 0; i < 50; ++i)
    rig.a().put(kLo, 10, false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().tally().puts, 50U);
  EXPECT_TRUE(std::ranges::is_sorted(rig.a().order()));
}

TEST(LoopbackLnd, ParkedMessagesEndAtShutdown) {
  LoopbackRig rig({.park_percent = 100, .park_turns_max = 1'000'000'000});
  for (int i = 0; i < 10; ++i)
    rig.a().put(kLo, 10, false);
  rig.step();
  EXPECT_EQ(rig.a().tally().parked, 10U);
  rig.lnd_a().shut_down();
  for (int i = 0; i < 3; ++i)
    rig.step();
  EXPECT_TRUE(rig.lnd_a().idle());
  EXPECT_EQ(rig.a().tally().parked_gone, 10U);
  EXPECT_EQ(rig.a().tally().failed, 10U);
  EXPECT_TRUE(rig.a().settled());
  rig.expect_no_breach();
}

TEST(LoopbackLnd, ParkedMessagesEndWhenCancelled) {
  LoopbackRig rig({.park_percent = 100, .park_turns_max = 1'000'000'000});
  lnet::Transmit& put = rig.a().put(kLo, 10, false);
  rig.step();
  rig.a().cancel(put);
  for (int i = 0; i < 3; ++i)
    rig.step();
  EXPECT_EQ(rig.a().tally().cancelled, 1U);
  EXPECT_EQ(rig.a().tally().parked_gone, 1U);
  EXPECT_TRUE(rig.a().settled());
  rig.expect_no_breach();
}

}  // namespace
}  // namespace plnet::conformance::loopback_lnd_test

// SPDX-License-Identifier: BSD-3-Clause
// Our part of the message path allocates nothing. Providers are C code that uses malloc(), which is
// not counted: only new and delete are.
#include <gtest/gtest.h>

#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/drivers/ofi/rig.hpp"

namespace plnet::ofi {
namespace {

class Counting final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& completion : burst) {
      failed += completion.status ? 0U : 1U;
      if (completion.event == kfilnd::FabricEvent::kMessage) {
        ++messages;
        if (completion.buffer_unlinked)
          (void)endpoint->post_multi_receive({{0, 0}, 16384}, completion.cookie);
      } else {
        ++ended;
      }
    }
  }
  void on_link(bool, std::uint64_t) override {}
  Endpoint* endpoint = nullptr;
  unsigned messages = 0, ended = 0, failed = 0;
};

using OfiNoAllocation = OfiTest;

TEST_P(OfiNoAllocation, MessagesAndBulk) {
  const Site site = next_site();
  std::array<Side, 2> sides;
  std::array<Counting, 2> users;
  for (unsigned side = 0; side < 2; ++side)
    users[side].endpoint = &sides[side].open(GetParam(), side, users[side], site);
  std::array<kfilnd::Target, 2> peers;
  for (unsigned side = 0; side < 2; ++side) {
    const DeviceConfig other = device_config(GetParam(), 1 - side, site);
    peers[side] = {users[side].endpoint->resolve(other.nic_address, other.service).value(), 0};
  }
  ASSERT_TRUE(users[1].endpoint->post_multi_receive({{0, 0}, 16384}, 1));
  Instant now{};
  const Fragment near{{0, 100'000}, 50'000};
  const Fragment far{{0, 200'000}, 50'000};
  const std::array<std::byte, 200> header{};
  const auto round = [&](unsigned number) {
    const unsigned ended = users[0].ended + users[1].ended;
    const kfilnd::Tag tag = number;
    const bool reads = number % 2 == 0;
    bool posted = users[0].endpoint->send(peers[0], header, {}, 1).has_value();
    posted &= users[0]
                  .endpoint->post_tagged(peers[0], tag, reads, conformance::payload_of(near), 2)
                  .has_value();
    const auto payload = conformance::payload_of(far);
    posted &= (reads ? users[1].endpoint->read_tagged(peers[1], tag, payload, 3)
                     : users[1].endpoint->write_tagged(peers[1], tag, payload, 3))
                  .has_value();
    for (unsigned turn = 0; turn < 2'000'000; ++turn) {
      now += std::chrono::microseconds(1);
      for (Counting& user : users)
        (void)user.endpoint->poll(now);
      if (users[0].ended + users[1].ended == ended + 3) return posted;
      std::this_thread::yield();
    }
    return false;
  };
  ASSERT_TRUE(round(1));  // the first exchange of greetings
  bool all = true;
  const testrig::HeapCalls calls = testrig::heap_calls_of([&] {
    for (unsigned i = 2; i < 300; ++i)
      all &= round(i);
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(calls, (testrig::HeapCalls{0, 0}));
  EXPECT_EQ(users[0].failed + users[1].failed, 0U);
  EXPECT_EQ(users[1].messages, 299U);
}

INSTANTIATE_TEST_SUITE_P(, OfiNoAllocation, testing::Values(kShm, kNet), provider_name);

}  // namespace
}  // namespace plnet::ofi

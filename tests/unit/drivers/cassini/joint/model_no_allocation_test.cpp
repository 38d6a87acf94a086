// SPDX-License-Identifier: BSD-3-Clause
// Driver and software NIC together allocate nothing after start, both at full speed and with all
// the freedom of order.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "bench/drivers/cassini_soft_pair.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::cassini::model_no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr std::uint32_t kBulkBytes = 1U << 20U;
constexpr unsigned kTurnsMax = 100'000;

class Rig {
 public:
  explicit Rig(const soft::Freedom& freedom) : pair_(2ULL * kBulkBytes, freedom) {}

  // Messages, bulk both ways and a cancelled buffer, until all of them have ended.
  bool round(unsigned messages) {
    auto& near = pair_.near;
    auto& far = pair_.far;
    near.ended = far.ended = far.received = 0;
    const std::array<std::byte, 64> bytes{};
    unsigned sent = 0;
    const bool posted = post(0, true) && post(1, false) && take_back();
    for (unsigned turn = 0; turn < kTurnsMax; ++turn) {
      while (sent < messages && near.endpoint().send(pair_.to_far, bytes, {}, sent))
        ++sent;
      // At the near end also the two buffers and the cancelled one.
      if (far.received == messages && near.ended == messages + 3 && far.ended == 2) return posted;
      now_ += std::chrono::microseconds(1);
      (void)pair_.fabric.step(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
      pair_.poll(now_);
    }
    return false;
  }
  [[nodiscard]] std::uint64_t failed() const { return pair_.near.failed + pair_.far.failed; }

 private:
  bool post(unsigned half, bool reads) {
    const Fragment fragment{{0, bench::SoftEnd::kBulkFrom + std::uint64_t{half} * kBulkBytes},
                            kBulkBytes};
    const lnet::Payload payload{{&fragment, 1}, 0, kBulkBytes};
    const kfilnd::Tag tag = next_tag_++;
    auto& far = pair_.far.endpoint();
    return pair_.near.endpoint().post_tagged(pair_.to_far, tag, reads, payload, tag) &&
           (reads ? far.read_tagged(pair_.to_near, tag, payload, tag)
                  : far.write_tagged(pair_.to_near, tag, payload, tag));
  }
  bool take_back() {
    const kfilnd::Tag tag = next_tag_++;
    return pair_.near.endpoint().post_tagged(pair_.to_far, tag, true, {}, tag) &&
           pair_.near.endpoint().cancel_tagged(tag);
  }

  bench::SoftPair pair_;
  Instant now_{std::chrono::milliseconds(1)};
  kfilnd::Tag next_tag_ = 0;
};

void check(const soft::Freedom& freedom) {
  Rig rig(freedom);
  for (unsigned i = 0; i < 5; ++i)
    ASSERT_TRUE(rig.round(100));
  EXPECT_EQ(heap_calls_of([&] {
              for (unsigned i = 0; i < 20; ++i)
                EXPECT_TRUE(rig.round(500));
            }),
            HeapCalls{});
  EXPECT_EQ(rig.failed(), 0U);
}

TEST(CassiniModelNoAllocation, AsFastAsItCan) {
  check({});
}

TEST(CassiniModelNoAllocation, WithFreedom) {
  for (const std::uint64_t seed : {1ULL, 2ULL, 3ULL}) {
    SCOPED_TRACE(seed);
    check({.seed = seed,
           .link_failure = 0.1,
           .torn_event = 0.3,
           .event_after_answer = 0.5,
           .delay_ns_max = 20'000,
           .command_pause = 0.2});
  }
}

}  // namespace
}  // namespace plnet::cassini::model_no_allocation_test

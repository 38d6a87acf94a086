// SPDX-License-Identifier: BSD-3-Clause
// Thresholds of an event queue, and the wake-ups of its readers.
#include "drivers/net/cassini/soft/event_queue.hpp"

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::event_queue_test {
namespace {

using Status = layout::EqStatus;

class Bell final : public Waker {
 public:
  void wake() override { ++rings; }
  unsigned rings = 0;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): counters are aligned on purpose
struct Rig {
  explicit Rig(const std::array<unsigned, kThresholds>& percent = {})
      : memory(kPageBytes),
        queue({.memory = memory.data(),
               .bytes = memory.size(),
               .threshold_percent = percent,
               .on_event = &events,
               .on_status = &status},
              stats) {}
  void write(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      EventBuffer event;
      layout::TargetLong::Code::set(event.data(), 1);
      ASSERT_TRUE(queue.write(event, 64, ++now));
    }
  }
  // As the reader does it: slots that were read are zeroed.
  void read_up_to(unsigned slot, std::uint64_t flags = 0) {
    std::memset(memory.data() + 64, 0, std::size_t{slot - 1} * 64);
    std::atomic_ref(*queue.software_state()).store(slot | flags, std::memory_order_release);
  }
  template <class Field>
  [[nodiscard]] std::uint64_t get() {
    return Field::get(memory.data());
  }
  rigs::Arena memory;
  NicStats stats;
  Bell events, status;
  EventQueue queue;
  std::uint64_t now = 0;
};

// 64 slots: 16, 32 and 48 of them filled.
TEST(SoftEventQueue, EachOfSeveralThresholdsIsReported) {
  Rig rig({25, 50, 75, 0});
  rig.write(15);
  EXPECT_EQ(rig.status.rings, 0U);
  for (unsigned threshold = 0; threshold < 3; ++threshold) {
    SCOPED_TRACE(threshold);
    rig.write(threshold == 0 ? 1 : 16);
    EXPECT_EQ(rig.status.rings, threshold + 1);
    EXPECT_EQ(rig.get<Status::ThldId>(), threshold);
    EXPECT_EQ(rig.get<Status::ThldSts>(), 1U);
  }
  // Read to the end: with the next event all three thresholds are below again, and the last of them
  // is reported last.
  rig.read_up_to(49);
  rig.write(1);
  EXPECT_EQ(rig.status.rings, 6U);
  EXPECT_EQ(rig.get<Status::ThldId>(), 2U);
  EXPECT_EQ(rig.get<Status::ThldSts>(), 0U);
}

// The reader tells a new status by its timestamp, and the clock stands still within a step.
TEST(SoftEventQueue, EachStatusHasATimestampOfItsOwn) {
  Rig rig({25, 50, 0, 0});
  std::uint64_t before = rig.get<Status::TimestampNs>();
  for (unsigned status = 0; status < 2; ++status) {
    for (unsigned i = 0; i < 16; ++i) {
      EventBuffer event;
      layout::TargetLong::Code::set(event.data(), 1);
      ASSERT_TRUE(rig.queue.write(event, 64, 7));
    }
    EXPECT_EQ(rig.status.rings, status + 1);
    EXPECT_GT(rig.get<Status::TimestampNs>(), before);
    before = rig.get<Status::TimestampNs>();
  }
}

TEST(SoftEventQueue, TheReaderIsWokenUnlessItDeclines) {
  Rig rig;
  rig.write(2);
  EXPECT_EQ(rig.events.rings, 2U);
  rig.read_up_to(3, std::uint64_t{1} << 32);
  rig.write(1);
  EXPECT_EQ(rig.events.rings, 2U) << "switched off in the doorbell";
  rig.read_up_to(4);
  rig.write(1);
  EXPECT_EQ(rig.events.rings, 3U);
}

// The reader enables wake-ups, finds no event and sleeps. The device may have written the event
// before it saw that doorbell.
TEST(SoftEventQueue, TheReaderIsWokenWhenItEnablesWithAnUnreadEvent) {
  constexpr std::uint64_t kDisabled = std::uint64_t{1} << 32;
  Rig rig;
  rig.read_up_to(1, kDisabled);
  rig.write(2);
  rig.queue.tell_enabled();
  EXPECT_EQ(rig.events.rings, 0U);
  rig.read_up_to(2);  // one of the two
  rig.queue.tell_enabled();
  EXPECT_EQ(rig.events.rings, 1U);
  rig.queue.tell_enabled();
  EXPECT_EQ(rig.events.rings, 1U);
  rig.read_up_to(3, kDisabled);
  rig.write(1);
  rig.read_up_to(4);  // all
  rig.queue.tell_enabled();
  EXPECT_EQ(rig.events.rings, 1U);
  rig.write(1);
  EXPECT_EQ(rig.events.rings, 2U);
}

}  // namespace
}  // namespace plnet::cassini::soft::event_queue_test

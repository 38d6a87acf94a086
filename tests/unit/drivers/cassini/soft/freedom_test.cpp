// SPDX-License-Identifier: BSD-3-Clause
// Thousands of seeds draw from the freedom of order and time that the specification leaves to the
// device: every event that a process receives must be true.
#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::freedom_test {
namespace {

using rigs::Event;
using rigs::Host;
using Le = layout::Target;
using Long = layout::TargetLong;
using Ack = layout::InitiatorShort;

constexpr unsigned kSeeds = 2000;

Freedom all_of_it(std::uint64_t seed) {
  return {.seed = seed,
          .low_latency_rejected = 0.3,
          .torn_event = 0.3,
          .event_after_answer = 0.5,
          .delay_ns_max = 50000,
          .acknowledgement_lost = 0.02,
          .command_pause = 0.2};
}

struct Two {
  explicit Two(const Freedom& freedom)
      : fabric(freedom, 64), a(fabric, host(1, 7)), b(fabric, host(2, 9)) {}
  // Small tables, since the test creates thousands of them.
  static rigs::HostOptions host(NicAddress address, unsigned pid) {
    rigs::HostOptions options{.address = address, .pid = pid};
    options.arena = 1U << 16;
    options.eq_bytes = 16384;
    options.limits = {.event_queues = 8, .portals = 8, .counters = 8, .list_entries = 64};
    return options;
  }
  Fabric fabric;
  Host a, b;
};

// Steps until nothing changes any more and collects the events of both.
void gather(Two& two, std::vector<Event>& a, std::vector<Event>& b) {
  for (unsigned quiet = 0; quiet < 40;) {
    const unsigned done = two.fabric.step(Host::now_ns += 5000);
    const std::size_t before = a.size() + b.size();
    while (auto event = two.a.events.next())
      a.push_back(*event);
    while (auto event = two.b.events.next())
      b.push_back(*event);
    quiet = done == 0 && two.fabric.idle() && a.size() + b.size() == before ? quiet + 1 : 0;
  }
}

// kfi_cxi's method: the event with auto_unlinked contains the number of bytes that the buffer
// received in total.
TEST(SoftFreedom, BytesOfASharedBufferAddUp) {
  unsigned ack_first = 0, event_first = 0, out_of_order = 0, last_not_last = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Two two(all_of_it(seed));
    Random random(seed);
    two.b.append(two.b.arena.data(), 4096, 5, 1, [](std::byte* at) {
      Le::UseOnce::set(at, 0);
      Le::ManageLocal::set(at, 1);
      Le::MinFree::set(at, 2048);
    });
    const std::uint64_t base = two.b.iova(two.b.arena.data());
    std::vector<Event> a, b;
    gather(two, a, b);
    constexpr unsigned kMessages = 12;
    for (unsigned i = 0; i < kMessages; ++i) {
      std::memset(two.a.arena.data() + std::size_t{i} * 512, static_cast<int>(i + 1), 512);
      two.a.put(two.b, two.a.arena.data() + std::size_t{i} * 512,
                static_cast<std::uint32_t>(1 + random.below(512)), 1, i);
      if (random.chance(0.5)) two.fabric.step(Host::now_ns += 10000);
    }
    gather(two, a, b);
    EXPECT_EQ(a.size(), kMessages) << "one ACK per command";
    std::uint64_t sum = 0, total = 0, highest = 0;
    bool unlinked = false;
    for (std::size_t i = 0; i < b.size(); ++i) {
      ASSERT_EQ(b[i].type, EventType::kPut);
      const std::uint64_t offset = b[i].get<Long::Start>() - base;
      const std::uint64_t length = b[i].get<Long::MLength>();
      sum += length;
      if (offset < highest) ++out_of_order;
      highest = offset;
      if (b[i].get<Long::AutoUnlinked>() != 0) {
        EXPECT_FALSE(unlinked);
        unlinked = true;
        total = offset + length;
        if (i + 1 < b.size()) ++last_not_last;
      }
      // Complete, from one sender's message.
      const std::byte* bytes = two.b.arena.data() + offset;
      EXPECT_TRUE(std::all_of(bytes, bytes + length, [&](std::byte one) {
        return one == bytes[0] && one != std::byte{0};
      }));
    }
    if (unlinked) {
      EXPECT_EQ(sum, total);
    }
    const auto good = static_cast<std::size_t>(
        std::ranges::count_if(a, [](const Event& event) { return event.code == ReturnCode::kOk; }));
    EXPECT_LE(good, b.size()) << "an ACK that says OK has its PUT";
    if (good < b.size()) ++ack_first;
    if (good == b.size()) ++event_first;
  }
  // The freedom must actually occur.
  EXPECT_GT(ack_first, 0U);
  EXPECT_GT(event_first, 0U);
  EXPECT_GT(out_of_order, 0U);
  EXPECT_GT(last_not_last, 0U);
}

TEST(SoftFreedom, UnlinkRacesWithAPut) {
  unsigned unlinked = 0, arrived = 0, cut = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Freedom freedom = all_of_it(seed);
    freedom.acknowledgement_lost = 0;
    Two two(freedom);
    Random random(seed);
    two.b.append(two.b.arena.data(), 512, 5, 1);
    std::vector<Event> a, b;
    gather(two, a, b);
    std::memset(two.a.arena.data(), 0x77, 512);
    two.a.put(two.b, two.a.arena.data(), 512, 1);
    for (std::uint64_t i = random.below(12); i > 0; --i)
      two.fabric.step(Host::now_ns += 10000);
    two.b.unlink(5);
    bool found = false;
    for (int i = 0; i < 100 && !found; ++i) {
      two.fabric.step(Host::now_ns += 5000);
      while (auto event = two.b.events.next()) {
        found = found || event->type == EventType::kUnlink;
        b.push_back(*event);
      }
    }
    ASSERT_TRUE(found);
    ASSERT_TRUE(two.b.nic.invalidate(two.b.portal, 5, 0));
    const bool touched = two.b.arena.data()[0] != std::byte{0};
    gather(two, a, b);
    EXPECT_EQ(two.b.arena.data()[0] != std::byte{0}, touched) << "memory after invalidate";
    ASSERT_EQ(a.size(), 1U);
    const auto unlink = std::ranges::find(b, EventType::kUnlink, &Event::type);
    const auto put = std::ranges::find(b, EventType::kPut, &Event::type);
    if (unlink->code == ReturnCode::kOk) {
      ++unlinked;
      EXPECT_EQ(put, b.end());
      EXPECT_EQ(a[0].code, ReturnCode::kEntryNotFound);
    } else {
      ++arrived;
      EXPECT_EQ(unlink->code, ReturnCode::kEntryNotFound);
      ASSERT_NE(put, b.end()) << "it was just used: the event must come";
      if (put->code == ReturnCode::kMstCancelled) ++cut;
    }
  }
  EXPECT_GT(unlinked, 0U);
  EXPECT_GT(arrived, 0U);
  EXPECT_GT(cut, 0U);
}

TEST(SoftFreedom, ExecutedAlthoughTheInitiatorReceivesAFailure) {
  unsigned both = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Freedom freedom = all_of_it(seed);
    freedom.acknowledgement_lost = 0.5;
    Two two(freedom);
    two.b.append(two.b.arena.data(), 512, 5, 1);
    std::vector<Event> a, b;
    gather(two, a, b);
    two.a.put(two.b, two.a.arena.data(), 512, 1);
    gather(two, a, b);
    ASSERT_EQ(a.size(), 1U);
    ASSERT_EQ(b.size(), 1U);
    EXPECT_EQ(b[0].code, ReturnCode::kOk);
    if (a[0].code != ReturnCode::kOk) {
      EXPECT_TRUE(a[0].code == ReturnCode::kUndeliverable || a[0].code == ReturnCode::kCanceled);
      ++both;
    }
  }
  EXPECT_GT(both, 0U);
}

TEST(SoftFreedom, LinkFailsNowAndThen) {
  unsigned failed = 0, linked = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Two two({.seed = seed, .link_failure = 0.3});
    two.b.append(two.b.arena.data(), 512, 5, 1,
                 [](std::byte* at) { Le::EventLinkDisable::set(at, 0); });
    const auto event = two.b.wait();
    ASSERT_TRUE(event);
    ASSERT_EQ(event->type, EventType::kLink);
    ++(event->code == ReturnCode::kNoSpace ? failed : linked);
  }
  EXPECT_GT(failed, 0U);
  EXPECT_GT(linked, 0U);
}

TEST(SoftFreedom, AFenceWaitsForOperationsInFlight) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Freedom freedom = all_of_it(seed);
    freedom.acknowledgement_lost = 0;
    freedom.torn_event = 0;
    Two two(freedom);
    two.b.append(two.b.arena.data(), 512, 5, 1);
    two.b.append(two.b.arena.data() + 512, 512, 6, 2);
    std::vector<Event> a, b;
    gather(two, a, b);
    two.a.put(two.b, two.a.arena.data(), 8, 1, 1);
    rigs::Slots fence;
    rigs::head(fence.data(), 1, CqOpcode::kFence);
    two.a.tx.push(fence.data(), 1);
    two.a.get(two.b, two.a.arena.data(), 8, 2, 2);
    gather(two, a, b);
    ASSERT_EQ(a.size(), 2U);
    EXPECT_EQ(a[0].get<Ack::UserPtr>(), 1U);
    EXPECT_EQ(a[1].get<Ack::UserPtr>(), 2U);
  }
}

// Everything is destroyed at each step of an operation; operations under way must not touch freed
// objects.
TEST(SoftFreedom, TeardownAtEveryStep) {
  for (unsigned steps = 0; steps < 60; ++steps) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " steps " + std::to_string(steps));
      Two two(all_of_it(seed));
      two.b.append(two.b.arena.data(), 512, 5, 1);
      for (int i = 0; i < 20; ++i)
        two.fabric.step(Host::now_ns += 1000);
      two.a.put(two.b, two.a.arena.data(), 512, 1);
      for (unsigned i = 0; i < steps; ++i)
        two.fabric.step(Host::now_ns += 2000);
      Host& gone = seed % 2 == 0 ? two.b : two.a;
      Nic& nic = gone.nic;
      ASSERT_TRUE(nic.unmap_portal(gone.domain.key, 0));
      ASSERT_TRUE(nic.unmap_portal(gone.domain.key, 128));
      ASSERT_TRUE(nic.drop_portal(gone.portal));
      ASSERT_TRUE(nic.drop_command_queue(gone.txq));
      ASSERT_TRUE(nic.drop_command_queue(gone.tgq));
      ASSERT_TRUE(nic.drop_event_queue(gone.eq));
      ASSERT_TRUE(nic.unmap(gone.mapping));
      ASSERT_TRUE(nic.unmap(gone.eq_mapping));
      ASSERT_TRUE(nic.drop_domain(gone.domain.key));
      ASSERT_TRUE(nic.drop_profile(gone.group, gone.lcid));
      ASSERT_TRUE(nic.drop_group(gone.group));
      const std::vector<std::byte> before(gone.arena.data(), gone.arena.data() + 512);
      for (int i = 0; i < 100; ++i)
        two.fabric.step(Host::now_ns += 10000);
      EXPECT_TRUE(std::equal(before.begin(), before.end(), gone.arena.data()));
      EXPECT_TRUE(two.fabric.idle());
    }
  }
}

}  // namespace
}  // namespace plnet::cassini::soft::freedom_test

// SPDX-License-Identifier: BSD-3-Clause
// Data shared by several threads; the thread sanitizer runs these tests as well.
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/counters.hpp"
#include "lib/base/duplex.hpp"
#include "lib/base/histogram.hpp"
#include "lib/base/mailbox.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/base/qsbr_table.hpp"
#include "lib/base/random.hpp"
#include "lib/base/ring.hpp"

namespace plnet::concurrent_test {
namespace {

TEST(SpscRing, OrderSurvivesTwoThreads) {
  constexpr std::uint64_t kObjects = 200000;
  SpscRing<std::uint64_t> ring(64);
  std::thread producer([&ring] {
    Random random(1);
    std::array<std::uint64_t, 48> burst{};
    for (std::uint64_t next = 0; next < kObjects;) {
      const std::uint64_t length = std::min(random.between(1, burst.size()), kObjects - next);
      for (std::uint64_t i = 0; i < length; ++i)
        burst[i] = next + i;
      const auto sent = ring.push_burst(std::span<const std::uint64_t>(burst).first(length));
      if (sent == 0) std::this_thread::yield();
      next += sent;
    }
  });
  Random random(2);
  std::array<std::uint64_t, 48> burst{};
  std::uint64_t expected = 0;
  bool in_order = true;
  while (expected < kObjects) {
    const auto count =
        ring.pop_burst(std::span<std::uint64_t>(burst).first(random.between(1, burst.size())));
    if (count == 0) std::this_thread::yield();
    for (std::size_t i = 0; i < count; ++i)
      in_order = burst[i] == expected++ && in_order;
  }
  producer.join();
  EXPECT_TRUE(in_order);
  EXPECT_TRUE(ring.empty());
}

struct Parcel {
  std::size_t from = 0;
  std::uint64_t number = 0;
};

// Sends parcels in bursts and receives those of the other side until both have finished. False if
// parcels arrived out of order or with contents that were not written yet.
bool converse(DuplexLane<Parcel>& out, DuplexLane<Parcel>& in, std::size_t me,
              std::vector<Parcel>& parcels) {
  Random random(me + 1);
  std::array<Parcel*, 24> burst{};
  std::size_t sent = 0;
  std::size_t seen = 0;
  bool good = true;
  while (sent < parcels.size() || seen < parcels.size()) {
    const std::size_t length =
        std::min<std::size_t>(random.between(1, burst.size()), parcels.size() - sent);
    for (std::size_t i = 0; i < length; ++i) {
      parcels[sent + i] = {me, sent + i};
      burst[i] = &parcels[sent + i];
    }
    const std::size_t pushed = out.push_burst(std::span(burst).first(length));
    sent += pushed;
    const std::size_t popped =
        in.pop_burst(std::span(burst).first(random.between(1, burst.size())));
    for (std::size_t i = 0; i < popped; ++i)
      good = burst[i]->from != me && burst[i]->number == seen++ && good;
    if (pushed == 0 && popped == 0) std::this_thread::yield();
  }
  return good && in.empty();
}

TEST(Duplex, OrderSurvivesTwoThreadsThatBothTalk) {
  constexpr std::size_t kEach = 100000;
  Duplex<Parcel> channel(64);
  std::vector<Parcel> mine(kEach);
  std::vector<Parcel> theirs(kEach);
  bool they_are_good = false;
  std::thread other([&] { they_are_good = converse(channel.back(), channel.there(), 1, theirs); });
  const bool we_are_good = converse(channel.there(), channel.back(), 0, mine);
  other.join();
  EXPECT_TRUE(we_are_good);
  EXPECT_TRUE(they_are_good);
}

// The answer is written into the question's parcel: each side sees the other's writes completely.
TEST(Duplex, QuestionsAndAnswersOneAtATime) {
  constexpr std::uint64_t kTrips = 20000;
  Duplex<Parcel> channel(4);
  std::thread other([&channel] {
    for (std::uint64_t trip = 0; trip < kTrips; ++trip) {
      Parcel* parcel = nullptr;
      while (!channel.there().pop(parcel))
        std::this_thread::yield();
      parcel->number += 1;
      EXPECT_TRUE(channel.back().push(parcel));
    }
  });
  Parcel parcel;
  std::uint64_t wrong = 0;
  for (std::uint64_t trip = 0; trip < kTrips; ++trip) {
    parcel.number = trip * 2;
    EXPECT_TRUE(channel.there().push(&parcel));
    Parcel* answer = nullptr;
    while (!channel.back().pop(answer))
      std::this_thread::yield();
    if (answer != &parcel || answer->number != trip * 2 + 1) ++wrong;
  }
  other.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(MailboxGrid, EveryParcelArrivesOnceInTheOrderOfItsSender) {
  constexpr std::size_t kShards = 3;
  constexpr std::uint64_t kEach = 20000;
  std::array<SilentDoorbell, kShards> bells;
  std::array<Doorbell*, kShards> doorbells{&bells[0], &bells[1], &bells[2]};
  MailboxGrid<Parcel> grid(32, doorbells);
  std::vector<std::vector<Parcel>> parcels(kShards * kShards, std::vector<Parcel>(kEach));
  std::atomic<int> wrong{0};
  std::vector<std::thread> shards;
  shards.reserve(kShards);
  for (std::size_t me = 0; me < kShards; ++me) {
    shards.emplace_back([&, me] {
      std::array<std::uint64_t, kShards> sent{};
      std::array<std::uint64_t, kShards> seen{};
      std::array<Parcel*, 8> scratch{};
      std::uint64_t received = 0;
      for (bool done = false; !done;) {
        done = received == kShards * kEach;
        for (std::size_t to = 0; to < kShards; ++to) {
          if (sent[to] == kEach) continue;
          done = false;
          Parcel& parcel = parcels[me * kShards + to][sent[to]];
          parcel = {me, sent[to]};
          if (grid.box(me, to).post(&parcel)) ++sent[to];
        }
        const auto count =
            grid.drain(me, scratch, [&](std::size_t from, std::span<Parcel* const> objects) {
              for (const Parcel* parcel : objects) {
                if (parcel->from != from || parcel->number != seen[from]++) ++wrong;
              }
            });
        if (count == 0) std::this_thread::yield();
        received += count;
      }
    });
  }
  for (auto& shard : shards)
    shard.join();
  EXPECT_EQ(wrong.load(), 0);
}

struct Node {
  std::atomic<bool> alive{true};
  std::uint64_t key = 0;
};

// Readers look up while the writer inserts, replaces, erases and rebuilds; nothing that a reader
// holds may have been released.
TEST(QsbrTable, ReadersNeverHoldReleasedObjects) {
  constexpr std::uint64_t kKeys = 64;
  constexpr int kSteps = 60000;
  constexpr int kReaders = 2;
  Qsbr qsbr(kReaders, 256);
  QsbrTable<std::uint64_t, Node*> table(kKeys, qsbr);
  std::vector<std::unique_ptr<Node>> all;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<std::uint64_t> found{0};
  std::vector<std::thread> readers;
  readers.reserve(kReaders);
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      Random random(static_cast<std::uint64_t>(i) + 100);
      const auto me = qsbr.register_reader().value();
      qsbr.online(me);
      while (!stop.load(std::memory_order_relaxed)) {
        std::array<Node*, 8> held{};
        for (auto& node : held) {
          const std::uint64_t key = random.below(kKeys * 2);
          node = table.lookup(key).value_or(nullptr);
          if (node != nullptr && node->key != key) ++wrong;
        }
        for (const Node* node : held) {
          if (node == nullptr) continue;
          found.fetch_add(1, std::memory_order_relaxed);
          if (!node->alive.load(std::memory_order_relaxed)) ++wrong;
        }
        qsbr.quiescent(me);
        if (random.chance(0.01)) {
          qsbr.offline(me);
          std::this_thread::yield();
          qsbr.online(me);
        }
      }
      qsbr.offline(me);
    });
  }
  const auto release = [](void* /*context*/, void* object) {
    static_cast<Node*>(object)->alive.store(false, std::memory_order_relaxed);
  };
  const auto retire = [&](Node* node) {
    while (!qsbr.retire(node, release, nullptr)) {
      if (qsbr.reclaim(16) == 0) std::this_thread::yield();
    }
  };
  Random random(7);
  for (int step = 0; step < kSteps || (found.load() == 0 && step < kSteps * 100); ++step) {
    const std::uint64_t key = random.below(kKeys * 2);
    if (random.chance(0.5)) {
      if (const auto old = table.erase(key)) retire(*old);
    } else {
      all.push_back(std::make_unique<Node>());
      all.back()->key = key;
      if (const auto old = table.replace(key, all.back().get())) {
        retire(*old);
      } else if (!table.insert(key, all.back().get())) {
        std::this_thread::yield();  // full, or readers are slow
      }
    }
    qsbr.reclaim(4);
  }
  stop.store(true);
  for (auto& reader : readers)
    reader.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(found.load(), 0U);
  while (qsbr.reclaim(16) > 0) {
  }
  EXPECT_EQ(qsbr.retired(), 0U);
}

TEST(Histogram, ReadersSeeWholeCounts) {
  auto histogram = std::make_unique<Histogram>();
  constexpr std::uint64_t kRecords = 100000;
  std::thread writer([&histogram] {
    for (std::uint64_t i = 0; i < kRecords; ++i)
      histogram->record(i);
  });
  auto snapshot = std::make_unique<HistogramSnapshot>();
  std::uint64_t last = 0;
  bool grows = true;
  while (last < kRecords) {
    histogram->snapshot(*snapshot);
    grows = grows && snapshot->count() >= last;
    last = snapshot->count();
    std::this_thread::yield();
  }
  writer.join();
  EXPECT_TRUE(grows);
  EXPECT_EQ(last, kRecords);
}

#define TEST_LIST(X) X(kEvents, "events", "events", kCount, "things that happened")
PLNET_COUNTERS(TestTable, TEST_LIST);

TEST(Counters, AreReadWhileTheyGrow) {
  Counters<TestTable> counters;
  constexpr std::uint64_t kEvents = 100000;
  std::thread writer([&counters] {
    for (std::uint64_t i = 0; i < kEvents; ++i)
      counters.add(TestTable::Id::kEvents);
  });
  std::uint64_t last = 0;
  bool grows = true;
  while (last < kEvents) {
    const std::uint64_t now = counters.view().value(0);
    grows = grows && now >= last;
    last = now;
    std::this_thread::yield();
  }
  writer.join();
  EXPECT_TRUE(grows);
}

}  // namespace
}  // namespace plnet::concurrent_test

// SPDX-License-Identifier: BSD-3-Clause
// After construction the message path allocates nothing and frees nothing. Each test builds its
// parts, runs them for a while and counts heap calls.
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/null/device.hpp"
#include "lib/base/mailbox.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/qsbr_table.hpp"
#include "lib/base/random.hpp"
#include "lib/base/ring.hpp"
#include "lib/base/timer_wheel.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet {
namespace {

using drivers::NullLnd;
using drivers::NullMode;
using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr HeapCalls kNothing{};

TEST(NoAllocation, TheCounterCounts) {
  const HeapCalls plain = heap_calls_of([] { ::operator delete(::operator new(1)); });
  EXPECT_EQ(plain, (HeapCalls{1, 1}));
  const HeapCalls aligned = heap_calls_of([] {
    constexpr std::align_val_t kLine{64};
    ::operator delete[](::operator new[](100, kLine), kLine);
  });
  EXPECT_EQ(aligned, (HeapCalls{1, 1}));
  const HeapCalls kept = heap_calls_of([] {
    static std::vector<std::uint64_t> numbers;
    numbers.resize(100);
  });
  EXPECT_GT(kept.news, 0U) << "allocations of the standard library count, too";
}

// A core of fixed size: receives, drops and parks offered messages in turn.
class FlatCore final : public lnet::LndUpcalls {
 public:
  static constexpr std::size_t kMessages = 256;
  static constexpr std::size_t kPeers = 16;
  static constexpr std::uint32_t kBytes = 4096;

  FlatCore() : memory_(kBytes) {
    const ArenaId id = arenas.add({.base = memory_.data(), .size = memory_.size()}).value();
    fragment_ = {{id, 0}, kBytes};
    for (std::size_t i = 0; i < kPeers; ++i)
      links[i].nid = lnet::Nid::of(lnet::NetType::kTcp, 0, static_cast<std::uint32_t>(100 + i));
    for (std::size_t i = 0; i < kMessages; ++i)
      idle_[i] = &transmits_[i];
  }

  // One turn of a core: decisions, sends, flush.
  void turn(NullLnd& lnd, Instant now) {
    resume(lnd);
    for (std::size_t i = 0; i < idle_count_; ++i)
      prepare(*idle_[i]);
    const std::size_t taken = lnd.send({idle_.data(), idle_count_});
    for (std::size_t i = taken; i < idle_count_; ++i)
      idle_[i - taken] = idle_[i];
    idle_count_ -= taken;
    sent += taken;
    (void)lnd.flush(now);
    (void)lnd.next_deadline();
  }
  void resume(NullLnd& lnd) {
    for (std::size_t i = 0; i < parked_count_; ++i) {
      lnd.resume(parked_[i].rx, parked_[i].length % 2 == 0
                                    ? receive(parked_[i].length)
                                    : lnet::RxDecision{.verdict = lnet::RxVerdict::kDrop});
    }
    parked_count_ = 0;
  }
  [[nodiscard]] bool all_idle() const { return idle_count_ == kMessages; }
  [[nodiscard]] lnet::Transmit& transmit(std::size_t index) { return transmits_[index]; }

  lnet::RxDecision on_header(const lnet::RxOffer& offer) override {
    ++offered;
    if (offered % 11 == 0) return {.verdict = lnet::RxVerdict::kDrop};
    if (offered % 7 == 0 && parked_count_ < kPeers) {
      parked_[parked_count_++] = {offer.rx, offer.header.payload_length};
      ++parked;
      return {.verdict = lnet::RxVerdict::kPark};
    }
    return receive(offer.header.payload_length);
  }
  void on_received(lnet::RxHandle /*rx*/, Result<void> /*status*/, Health /*health*/) override {
    ++received;
  }
  void on_sent(std::span<const lnet::Completion> burst) override {
    for (const lnet::Completion& completion : burst) {
      idle_[idle_count_++] = completion.transmit;
      failed += completion.status ? 0U : 1U;
    }
  }
  void on_parked_gone(lnet::RxHandle rx, Errc /*cause*/) override {
    for (std::size_t i = 0; i < parked_count_; ++i) {
      if (parked_[i].rx == rx) parked_[i] = parked_[--parked_count_];
    }
  }
  void on_quarantine_over(lnet::Transmit& /*transmit*/) override {}
  void on_lane(lnet::PeerLink& /*link*/, lnet::LaneId /*lane*/, bool /*up*/,
               bool /*bulk*/) override {}
  void on_peer(const lnet::Nid& /*nid*/, lnet::PeerNotice /*notice*/, Instant /*when*/) override {}
  void on_peer_released(lnet::PeerLink& /*link*/) override { ++released; }
  void on_interface(lnet::InterfaceState /*state*/, Errc /*cause*/) override {}

  ArenaTable arenas;
  std::array<lnet::PeerLink, kPeers> links;
  std::uint64_t sent = 0;
  std::uint64_t offered = 0;
  std::uint64_t received = 0;
  std::uint64_t parked = 0;
  std::uint64_t failed = 0;
  std::uint64_t released = 0;

 private:
  struct Parked {
    lnet::RxHandle rx;
    std::uint32_t length = 0;
  };

  [[nodiscard]] lnet::RxDecision receive(std::uint32_t length) const {
    return {.verdict = lnet::RxVerdict::kReceive,
            .target = {{&fragment_, 1}, 0, length},
            .length = length};
  }
  // A PUT with or without an ACK, or a GET, with varying lengths and peers.
  void prepare(lnet::Transmit& transmit) {
    const std::uint64_t draw = ++drawn_ * 2654435761U;
    const auto length = static_cast<std::uint32_t>(draw % kBytes);
    transmit = {.next_hop = &links[draw / kBytes % kPeers]};
    transmit.header.destination = transmit.next_hop->nid;
    const lnet::WireHandle handle{.interface_cookie = 1, .object_cookie = draw};
    if (draw % 3 == 0) {
      transmit.header.type = lnet::MessageType::kGet;
      transmit.header.set_area(lnet::GetArea{.return_handle = handle, .sink_length = length});
      transmit.sink = {{&fragment_, 1}, 0, length};
    } else {
      transmit.header.type = lnet::MessageType::kPut;
      transmit.header.payload_length = length;
      transmit.source = {{&fragment_, 1}, 0, length};
      lnet::PutArea put{};
      if (draw % 3 == 1) put.ack_handle = handle;
      transmit.header.set_area(put);
    }
  }

  std::vector<std::byte> memory_;
  Fragment fragment_;
  std::array<lnet::Transmit, kMessages> transmits_;
  std::array<lnet::Transmit*, kMessages> idle_{};
  std::size_t idle_count_ = kMessages;
  std::array<Parked, kPeers> parked_;
  std::size_t parked_count_ = 0;
  std::uint64_t drawn_ = 0;
};

constexpr unsigned kTurns = 2000;

// Load, cancelled messages, a peer that leaves and returns, shutdown.
void load(FlatCore& core, NullLnd& lnd) {
  Instant now{};
  for (unsigned i = 0; i < kTurns; ++i) {
    core.turn(lnd, now += std::chrono::microseconds(1));
    if (i % 100 == 50) lnd.release_peer(core.links[i / 100 % FlatCore::kPeers]);
  }
  lnd.shut_down();
  for (unsigned i = 0; i < 100 && !lnd.idle(); ++i) {
    core.resume(lnd);
    (void)lnd.flush(now += std::chrono::microseconds(1));
  }
}

TEST(NoAllocation, NullSink) {
  FlatCore core;
  Random random(1);
  NullLnd lnd({.in_flight_max = 100, .peers_max = FlatCore::kPeers, .arenas = &core.arenas}, core,
              random);
  EXPECT_EQ(heap_calls_of([&] { load(core, lnd); }), kNothing);
  EXPECT_TRUE(lnd.idle() && core.all_idle());
  EXPECT_GE(core.sent, kTurns * 50U);
  EXPECT_GT(core.released, 0U);
}

TEST(NoAllocation, NullEcho) {
  for (const bool places : {false, true}) {
    FlatCore core;
    Random random(1);
    NullLnd lnd({.mode = NullMode::kEcho,
                 .places_replies = places,
                 .in_flight_max = 100,
                 .peers_max = FlatCore::kPeers,
                 .arenas = &core.arenas},
                core, random);
    EXPECT_EQ(heap_calls_of([&] { load(core, lnd); }), kNothing);
    EXPECT_TRUE(lnd.idle() && core.all_idle());
    EXPECT_GT(core.received, kTurns);
    EXPECT_GT(core.parked, kTurns / 10);
    EXPECT_GT(core.failed, 0U) << "releases and the shutdown end messages";
  }
}

TEST(NoAllocation, NullSource) {
  FlatCore core;
  Random random(1);
  drivers::NullSourceConfig source{.first_peer = lnet::Nid::of(lnet::NetType::kTcp, 0, 1000),
                                   .peers = 8};
  source.header = {.type = lnet::MessageType::kPut, .payload_length = 512};
  source.header.set_area(lnet::PutArea{});
  NullLnd lnd({.mode = NullMode::kSource,
               .in_flight_max = 100,
               .peers_max = FlatCore::kPeers + 8,
               .arenas = &core.arenas,
               .source = source},
              core, random);
  EXPECT_EQ(heap_calls_of([&] { load(core, lnd); }), kNothing);
  EXPECT_TRUE(lnd.idle() && core.all_idle());
  EXPECT_GT(core.received, kTurns * 10U);
  EXPECT_GT(core.parked, kTurns);
}

TEST(NoAllocation, SpscRing) {
  SpscRing<std::uint64_t> ring(64);
  std::uint64_t out = 0;
  const HeapCalls calls = heap_calls_of([&] {
    std::array<std::uint64_t, 48> burst{};
    for (unsigned i = 0; i < 10'000; ++i) {  // alternately full and empty
      (void)ring.push_burst(burst);
      (void)ring.push_burst(burst);
      while (const std::size_t count = ring.pop_burst(burst))
        out += count;
    }
  });
  EXPECT_EQ(calls, kNothing);
  EXPECT_EQ(out, 640'000U);
}

TEST(NoAllocation, MailboxGrid) {
  struct Token {
    std::uint64_t number = 0;
  };
  constexpr std::size_t kShards = 3;
  std::array<SilentDoorbell, kShards> bells;
  const std::array<Doorbell*, kShards> doorbells{&bells[0], &bells[1], &bells[2]};
  MailboxGrid<Token> grid(32, doorbells);
  std::array<Token, 32> tokens;
  std::size_t drained = 0;
  std::size_t refused = 0;
  const HeapCalls calls = heap_calls_of([&] {
    std::array<Token*, 16> scratch{};
    for (unsigned round = 0; round < 5000; ++round) {
      for (std::size_t from = 0; from < kShards; ++from) {
        for (std::size_t i = 0; i < tokens.size(); ++i)
          refused += grid.box(from, (from + i) % kShards).post(&tokens[i]) ? 0U : 1U;
      }
      for (std::size_t to = 0; to < kShards; ++to) {
        drained += grid.drain(to, scratch, [](std::size_t, std::span<Token*> some) {
          for (Token* const token : some)
            ++token->number;
        });
      }
      if (round % 50 == 0) (void)grid.box(0, 0).size();
    }
  });
  EXPECT_EQ(calls, kNothing);
  EXPECT_GT(drained, 400'000U);
  EXPECT_EQ(refused, 0U);
}

TEST(NoAllocation, TimerWheel) {
  struct Waiter {
    void fire(Timer& fired_one, Instant now) {
      ++fired;
      if (fired % 3 != 0) wheel->start(fired_one, now + std::chrono::microseconds(fired % 5000));
    }
    TimerWheel* wheel = nullptr;
    std::uint64_t fired = 0;
    Timer timer = Timer::calling<&Waiter::fire>(*this);
  };
  TimerWheel wheel(Instant{}, TimerWheel::kTickMin);
  const auto waiters = std::make_unique<std::array<Waiter, 500>>();
  for (Waiter& waiter : *waiters)
    waiter.wheel = &wheel;
  Random random(1);
  std::uint64_t work = 0;
  const HeapCalls calls = heap_calls_of([&] {
    Instant now{};
    for (unsigned i = 0; i < 20'000; ++i) {
      Waiter& waiter = (*waiters)[random.below(waiters->size())];
      if (random.below(3) == 0) {
        (void)wheel.cancel(waiter.timer);
      } else {  // up to a second: several levels of the wheel
        wheel.start(waiter.timer,
                    now + std::chrono::microseconds(random.below(2) == 0 ? 100 : 1'000'000));
      }
      work += wheel.advance(now += std::chrono::microseconds(random.below(200)));
      (void)wheel.next_deadline();
    }
    for (Waiter& one : *waiters)
      (void)wheel.cancel(one.timer);
  });
  EXPECT_EQ(calls, kNothing);
  EXPECT_GT(work, 10'000U);
}

TEST(NoAllocation, Pool) {
  struct Object {
    std::array<std::uint64_t, 4> words{};
  };
  Pool<Object> pool(100);
  std::uint64_t taken = 0;
  const HeapCalls calls = heap_calls_of([&] {
    std::array<Object*, 128> lent{};
    for (unsigned round = 0; round < 2000; ++round) {
      std::size_t count = 0;
      for (Object*& object : lent) {  // to exhaustion
        object = pool.take();
        if (object == nullptr) break;
        ++count;
      }
      taken += count;
      for (std::size_t i = 0; i < count; ++i)
        pool.give(lent[i]);
    }
  });
  EXPECT_EQ(calls, kNothing);
  EXPECT_EQ(taken, 200'000U);
}

// Lookups, with the writer's work beside them: insert, replace, erase, rebuild, reclaim.
TEST(NoAllocation, QsbrTable) {
  Qsbr qsbr(2, 1000);
  const auto reader = qsbr.register_reader().value();
  QsbrTable<lnet::Nid, std::uint64_t> table(1000, qsbr);
  const auto nid = [](std::uint64_t number) {
    return lnet::Nid::of(lnet::NetType::kTcp, 0, static_cast<std::uint32_t>(number));
  };
  Random random(1);
  constexpr std::uint64_t kWindow = 900;
  std::uint64_t hits = 0;
  std::uint64_t inserted = 0;
  std::uint64_t replaced = 0;
  std::uint64_t retired = 0;
  std::uint64_t released = 0;
  const auto count = [](void*, void* object) { ++*static_cast<std::uint64_t*>(object); };
  const HeapCalls calls = heap_calls_of([&] {
    qsbr.online(reader);
    for (std::uint64_t i = 0; i < 100'000; ++i) {  // a window of keys moves on
      inserted += table.insert(nid(i), i) ? 1U : 0U;
      replaced += table.replace(nid(i - random.below(kWindow)), i) ? 1U : 0U;
      if (i >= kWindow && table.erase(nid(i - kWindow))) {
        retired += qsbr.retire(&released, count, nullptr) ? 1U : 0U;
      }
      for (unsigned j = 0; j < 4; ++j)
        hits += table.lookup(nid(i - random.below(2 * kWindow))) ? 1U : 0U;
      qsbr.quiescent(reader);
      (void)qsbr.reclaim(16);
    }
    qsbr.offline(reader);
  });
  EXPECT_EQ(calls, kNothing);
  EXPECT_EQ(inserted, 100'000U);
  EXPECT_GT(hits, 100'000U);
  EXPECT_GT(replaced, 90'000U);
  EXPECT_EQ(retired, 100'000U - kWindow);
  EXPECT_GT(released, 90'000U);
  EXPECT_GT(table.rebuilds(), 0U);
}

}  // namespace
}  // namespace plnet

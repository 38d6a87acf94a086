// SPDX-License-Identifier: BSD-3-Clause
// The send and receive windows, and the address table.
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/link/address_table.hpp"
#include "drivers/net/cassini/soft/link/receive_window.hpp"
#include "drivers/net/cassini/soft/link/send_window.hpp"
#include "lib/base/random.hpp"
#include "tests/unit/drivers/seeds.hpp"

namespace plnet::cassini::soft::link::windows_test {
namespace {

constexpr LinkOptions kOptions{.window = 256};
constexpr LinkOptions kNarrow{.window = 64};

struct Sender {
  Sender() { window.set_up(kOptions); }
  void push(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      window.push(store.take(), 10, 0);
  }
  std::vector<Sequence> send_all(std::uint64_t now_ns) {
    std::vector<Sequence> sent;
    for (auto next = window.next(); next; next = window.next()) {
      window.sent(*next, now_ns);
      sent.push_back(*next);
    }
    return sent;
  }
  SendWindow::Outcome ack(Sequence ack, std::uint64_t bits, std::uint64_t now_ns) {
    std::array<std::byte, 8> bytes{};
    std::memcpy(bytes.data(), &bits, sizeof bits);
    return window.on_ack(ack, bytes, now_ns, store);
  }
  SlotStore store{128, 64};
  SendWindow window;
};

TEST(SendWindow, SendsInTurnUpToTheCongestionWindow) {
  Sender it;
  it.push(40);
  EXPECT_EQ(it.send_all(0).size(), std::size_t{Congestion::kStart});
  EXPECT_EQ(it.ack(10, 0, 50'000).arrived, 10U);
  EXPECT_EQ(it.send_all(50'000), (std::vector<Sequence>{32, 33, 34, 35, 36, 37, 38, 39}));
  EXPECT_EQ(it.store.free_count(), 128U - 30);
}

TEST(SendWindow, OvertakenPacketsAreLostAfterARoundTripAndAMargin) {
  Sender it;
  it.push(8);
  it.send_all(0);
  it.window.on_round_trip(20'000);
  EXPECT_EQ(it.ack(2, 0b110, 20'000).lost, 0U);  // 4 and 5 arrived, 2 and 3 did not
  EXPECT_EQ(it.window.deadline_ns(), 25'000U);
  EXPECT_EQ(it.window.on_deadline(24'999).lost, 0U);
  EXPECT_EQ(it.window.on_deadline(25'000).lost, 2U);
  EXPECT_EQ(it.send_all(25'000), (std::vector<Sequence>{2, 3}));
  // 7 is lost as well: 2 and 3 were sent after it.
  EXPECT_EQ(it.ack(7, 0, 45'000).lost, 1U);
  EXPECT_EQ(it.send_all(45'000), std::vector<Sequence>{7});
  // Nothing was sent after that: only a timeout shows that it is lost again.
  EXPECT_EQ(it.window.deadline_ns(), 145'000U);
  EXPECT_TRUE(it.window.on_deadline(145'000).timed_out);
  EXPECT_EQ(it.send_all(145'000), std::vector<Sequence>{7});
  EXPECT_EQ(it.ack(8, 0, 165'000).arrived, 1U);
  EXPECT_TRUE(it.window.empty());
  EXPECT_EQ(it.window.deadline_ns(), kNever);
}

TEST(SendWindow, ThreeLaterOnesAreEnoughUntilOneWasLateOnly) {
  Sender it;
  it.push(12);
  it.send_all(0);
  it.window.on_round_trip(20'000);
  EXPECT_EQ(it.ack(0, 0b111, 20'000).lost, 1U);  // 1 to 3 arrived
  EXPECT_EQ(it.send_all(20'000), std::vector<Sequence>{0});
  EXPECT_EQ(it.ack(4, 0, 22'000).lost, 0U);      // too soon for the second copy: the first was late
  EXPECT_EQ(it.ack(4, 0b111, 23'000).lost, 0U);  // so 4 may be late, too
  EXPECT_EQ(it.window.deadline_ns(), 30'000U);
}

TEST(SendWindow, APacketSentAgainAndLostAgainIsFound) {
  Sender it;
  it.push(3);
  it.send_all(0);
  it.window.on_round_trip(20'000);
  (void)it.ack(0, 0b11, 20'000);
  EXPECT_EQ(it.window.on_deadline(25'000).lost, 1U);
  EXPECT_EQ(it.send_all(25'000), std::vector<Sequence>{0});
  it.push(1);
  EXPECT_EQ(it.send_all(30'000), std::vector<Sequence>{3});
  EXPECT_EQ(it.ack(0, 0b111, 50'000).lost, 1U);  // 3 arrived; it was sent after the second copy of
                                                 // 0
  EXPECT_EQ(it.send_all(50'000), std::vector<Sequence>{0});
}

TEST(SendWindow, TimeoutsDoubleAndProgressEndsThat) {
  Sender it;
  it.push(1);
  it.send_all(0);
  std::uint64_t now = 0;
  for (std::uint64_t wait = 100'000; wait < 10'000'000; wait *= 2) {
    EXPECT_EQ(it.window.deadline_ns(), now + wait);
    now += wait;
    EXPECT_TRUE(it.window.on_deadline(now).timed_out);
    EXPECT_EQ(it.send_all(now).size(), 1U);
  }
  EXPECT_EQ(it.window.deadline_ns(), now + kOptions.rto_max_ns);
  (void)it.ack(1, 0, now);
  it.push(1);
  it.send_all(now);
  EXPECT_EQ(it.window.deadline_ns(), now + 100'000);
}

TEST(SendWindow, FalseAcknowledgementsAreRefused) {
  Sender it;
  it.push(4);
  it.send_all(0);
  EXPECT_FALSE(it.ack(5, 0, 1).is_valid);          // never sent
  EXPECT_FALSE(it.ack(0, 0b1000, 1).is_valid);     // 4 was never sent
  EXPECT_TRUE(it.ack(0xfffffff0, 0, 1).is_valid);  // an old one
  EXPECT_EQ(it.window.first(), 0U);
  EXPECT_TRUE(it.ack(0, 0b100, 1).is_valid);
}

TEST(SendWindow, AManySidedLossMakesItSmallerAndAFewDoNot) {
  for (const unsigned every : {50U, 5U}) {
    Sender it;
    it.window.on_round_trip(10'000);
    std::uint64_t now = 0;
    unsigned smaller = 0;
    Sequence number = 0;
    for (int round = 0; round < 200 && smaller == 0; ++round) {
      it.push(16);
      it.send_all(now);
      now += 10'000;
      // The first of each group of `every` is missing and arrives when it is sent again.
      std::uint64_t bits = 0;
      for (unsigned i = 1; i < 16; ++i)
        bits |= (number + i) % every == 0 ? 0 : std::uint64_t{1} << (i - 1);
      const bool lacks_first = number % every == 0;
      Sequence ack = number + (lacks_first ? 0 : 1);
      if (!lacks_first) {
        while (bits & 1) {
          bits >>= 1;
          ++ack;
        }
        bits >>= 1;
      }
      smaller += it.ack(ack, ack == number + 16 ? 0 : bits, now).backed_off ? 1 : 0;
      now += 10'000;
      (void)it.window.on_deadline(now);
      it.send_all(now);
      number += 16;
      smaller += it.ack(number, 0, now + 10'000).backed_off ? 1 : 0;
    }
    EXPECT_TRUE(it.window.empty());
    EXPECT_EQ(smaller > 0, every == 5) << every;
  }
}

TEST(SendWindow, ANewSessionSendsAllAgainUnderTheSameNumbers) {
  Sender it;
  it.push(6);
  it.send_all(0);
  (void)it.ack(2, 0b1, 1'000);
  it.window.begin_session();
  EXPECT_EQ(it.window.deadline_ns(), kNever);
  EXPECT_EQ(it.send_all(2'000), (std::vector<Sequence>{2, 3, 4, 5}));
  EXPECT_EQ(it.window.drop_all(it.store), 4U);
  EXPECT_EQ(it.store.free_count(), 128U);
}

TEST(ReceiveWindow, KeepsAndAcknowledgesEarlyPackets) {
  ReceiveWindow window;
  window.set_up(kNarrow);
  SlotStore store(3, 64);
  const Sequence first = 0xfffffffe;  // sequence numbers wrap
  window.begin_session(first, store);
  using Verdict = ReceiveWindow::Verdict;
  const std::array<std::byte, 5> packet{};
  EXPECT_EQ(window.accept(first + 2, false, packet, store), Verdict::kKept);
  EXPECT_EQ(window.accept(first + 2, false, packet, store), Verdict::kDuplicate);
  EXPECT_EQ(window.accept(first - 1, false, packet, store), Verdict::kDuplicate);
  EXPECT_EQ(window.accept(first + 63, false, packet, store), Verdict::kKept);
  EXPECT_EQ(window.accept(first + 64, false, packet, store), Verdict::kOutside);
  EXPECT_EQ(window.accept(first + 3, true, {}, store), Verdict::kKept);
  std::array<std::byte, ReceiveWindow::kBitsMax> bits{};
  EXPECT_EQ(window.write_bits(bits), 8U);
  std::uint64_t word = 0;
  std::memcpy(&word, bits.data(), sizeof word);
  EXPECT_EQ(word, (1ULL << 62) | 0b110);
  EXPECT_EQ(window.accept(first + 4, false, packet, store), Verdict::kKept);
  EXPECT_EQ(window.accept(first + 5, false, packet, store), Verdict::kNoRoom);
  EXPECT_EQ(window.accept(first, false, packet, store), Verdict::kInTurn);
  EXPECT_FALSE(window.has_next());
  EXPECT_EQ(window.accept(first + 1, false, packet, store), Verdict::kInTurn);
  unsigned kept = 0;
  for (; window.has_next(); ++kept) {
    const auto next = window.take_next();
    EXPECT_EQ(next.slot == kNoSlot, kept == 1);
    if (next.slot != kNoSlot) store.give(next.slot);
  }
  EXPECT_EQ(kept, 3U);
  EXPECT_EQ(window.next(), first + 5);
  window.begin_session(7, store);
  EXPECT_EQ(store.free_count(), 3U);
}

TEST(ReceiveWindow, APacketLongerThanAPlaceIsNotKept) {
  ReceiveWindow window;
  window.set_up(kNarrow);
  SlotStore store(3, 64);
  window.begin_session(0, store);
  const std::array<std::byte, 65> packet{};
  EXPECT_EQ(window.accept(1, false, packet, store), ReceiveWindow::Verdict::kNoRoom);
  EXPECT_EQ(store.free_count(), 3U);
}

TEST(AddressTable, IsAMapOfBoundedSize) {
  drivers::for_each_seed(50, [](std::uint64_t seed) {
    Random random(seed);
    AddressTable table(16);
    std::map<NicAddress, std::uint32_t> model;
    for (int i = 0; i < 400; ++i) {
      const auto address = static_cast<NicAddress>(random.below(40) << random.below(3));
      if (model.contains(address)) {
        table.remove(address);
        model.erase(address);
      } else if (model.size() < 16) {
        table.add(address, static_cast<std::uint32_t>(i));
        model[address] = static_cast<std::uint32_t>(i);
      }
      for (NicAddress each = 0; each < 160; ++each) {
        const auto found = model.find(each);
        ASSERT_EQ(table.find(each), found == model.end() ? AddressTable::kNone : found->second);
      }
    }
  });
}

}  // namespace
}  // namespace plnet::cassini::soft::link::windows_test

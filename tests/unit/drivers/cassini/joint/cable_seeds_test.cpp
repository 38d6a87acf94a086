// SPDX-License-Identifier: BSD-3-Clause
// Driver, model, packet transport and link layer on a simulated cable whose faults come from a
// seed. Every check runs a hundred seeds, fewer under ASan; `test_cassini_cable --seeds=2000` runs
// more, and `--first=N` begins at another seed.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/cassini/joint/cable_bench.hpp"

namespace plnet::cassini::cable_seeds_test {
namespace {

using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;

std::uint64_t seeds_first = 1;
std::uint64_t seeds_count = 100;

soft::link::CableFaults faults_of(std::uint64_t seed) {
  Random random(seed);
  soft::link::CableFaults faults;
  if (seed % 4 == 0) return faults;
  faults.loss = 0.04 * static_cast<double>(random.below(100)) / 100;
  faults.duplication = 0.02 * static_cast<double>(random.below(100)) / 100;
  faults.damage = 0.02 * static_cast<double>(random.below(100)) / 100;
  faults.overtaking = 0.1 * static_cast<double>(random.below(100)) / 100;
  return faults;
}

template <class Check>
void for_seeds(const Check& check) {
  for (std::uint64_t seed = seeds_first; seed < seeds_first + seeds_count; ++seed) {
    SCOPED_TRACE("--first=" + std::to_string(seed) + " --seeds=1");
    check(seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(CassiniCable, Messages) {
  for_seeds([](std::uint64_t seed) {
    CableBench bench(seed, faults_of(seed));
    conformance::check_messages(bench, seed, 40, conformance::BufferOrder::kAny);
  });
}

TEST(CassiniCable, Tagged) {
  for_seeds([](std::uint64_t seed) {
    CableBench bench(seed, faults_of(seed));
    conformance::check_tagged(bench, seed, 12);
  });
}

// MTUs of 1500 and 9000 in both directions: packets are as long as both ports allow.
TEST(CassiniCable, PortsOfDifferentMtus) {
  for_seeds([](std::uint64_t seed) {
    const unsigned narrow = seed % 2;
    {
      CableBench bench(seed, faults_of(seed));
      bench.set_packet_bytes(1 - narrow, 8952);
      conformance::check_messages(bench, seed, 20, conformance::BufferOrder::kAny);
    }
    CableBench bench(seed, faults_of(seed));
    bench.set_packet_bytes(1 - narrow, 8952);
    conformance::check_tagged(bench, seed, 6);
    for (const CableBench::Side& side : bench.sides) {
      EXPECT_EQ(side.wire->layer().stats().get(soft::link::LinkCount::kTooLong), 0U);
      EXPECT_EQ(side.node->port().count(soft::PortCounters::Id::kTooLong), 0U);
    }
  });
}

// Counts how often each operation ended. Nothing more is guaranteed while peers die.
class Ledger final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const FabricCompletion> burst) override {
    for (const FabricCompletion& one : burst) {
      if (one.event == FabricEvent::kMessage) {
        ++messages;
      } else {
        ++ended[one.cookie];
        if (!one.status.has_value() && one.status.error() != Errc::kRefused) ++undelivered;
        good += one.status.has_value() ? 1U : 0U;
      }
    }
  }
  void on_link(bool, std::uint64_t address) override { nic_address = address; }
  std::map<std::uint64_t, unsigned> ended;
  std::uint64_t messages = 0;
  std::uint64_t good = 0;
  std::uint64_t undelivered = 0;
  std::uint64_t nic_address = 0;
};

enum class Mishap : std::uint8_t {
  kCableOut,
  kPeerRestarts,
  kPeerMoves,
  kSilence,
  kMtuShrinks,
  kKinds
};

class Misfortune {
 public:
  explicit Misfortune(std::uint64_t seed)
      : random_(seed),
        bench_(seed, faults_of(seed)),
        mishap_(static_cast<Mishap>(random_.below(static_cast<std::uint64_t>(Mishap::kKinds)))) {
    for (unsigned side = 0; side < 2; ++side)
      (void)bench_.make(side, ledgers_[side]);
    open_buffers();
    find_peer();
  }

  [[nodiscard]] Mishap mishap() const { return mishap_; }
  [[nodiscard]] std::uint64_t undelivered() const { return ledgers_[0].undelivered; }
  void run() {
    for (unsigned i = 0; i < 60; ++i)
      post();
    for (std::uint64_t turns = random_.below(200); turns > 0; --turns)
      bench_.turn();
    strike();
    for (unsigned i = 0; i < 20; ++i)
      post();
    ASSERT_TRUE(bench_.run([&] { return ledgers_[0].ended.size() == posted_; }))
        << ledgers_[0].ended.size() << " of " << posted_ << " ended";
    recover();
    // No operation ends twice.
    for (unsigned i = 0; i < 2000; ++i)
      bench_.turn();
    for (const auto& [cookie, times] : ledgers_[0].ended)
      EXPECT_EQ(times, 1U) << "cookie " << cookie;
    EXPECT_TRUE(works_again()) << "after it all nothing goes through";
  }

 private:
  [[nodiscard]] Endpoint& near() { return *bench_.sides[0].endpoint; }
  void find_peer() {
    const auto [nic, service] = bench_.process(1);
    peer_ = {near().resolve(nic, service).value(), 0};
  }
  void open_buffers() {
    for (std::uint64_t i = 0; i < 4; ++i) {
      const Fragment buffer{{0, i * (1U << 16U)}, 1U << 16U};
      EXPECT_TRUE(bench_.sides[1].endpoint->post_multi_receive(buffer, i).has_value());
    }
  }
  void post() {
    const std::array<std::byte, 64> header{};
    const Fragment part{{0, 0}, static_cast<std::uint32_t>(random_.between(1, 30'000))};
    const lnet::Payload payload = conformance::payload_of(part);
    const std::uint64_t cookie = posted_ + 1;
    const auto tag = static_cast<kfilnd::Tag>(cookie);
    Result<void> done;
    switch (random_.below(3)) {
      case 0: done = near().send(peer_, header, {}, cookie); break;
      // The tag does not exist: an error that the peer reports.
      case 1: done = near().read_tagged(peer_, tag, payload, cookie); break;
      default: done = near().write_tagged(peer_, tag, payload, cookie); break;
    }
    if (done.has_value()) ++posted_;
    bench_.turn();
  }
  void strike() {
    CableBench::Side& far = bench_.sides[1];
    switch (mishap_) {
      case Mishap::kCableOut: bench_.sides[0].wire->set_link(false); break;
      case Mishap::kSilence: bench_.cable.silent[far.plug] = true; break;
      case Mishap::kMtuShrinks: far.wire->layer().set_packet_bytes_max(600); break;
      case Mishap::kPeerMoves:
        ++far.moves;
        far.nic_address += 16;
        far.wire->set_address(far.nic_address);
        break;
      default:
        bench_.stop(1);
        bench_.start(1);
        (void)bench_.make(1, ledgers_[1]);
        open_buffers();
    }
  }
  void recover() {
    bench_.sides[0].wire->set_link(true);
    bench_.cable.silent[bench_.sides[1].plug] = false;
    if (mishap_ == Mishap::kPeerMoves) find_peer();
  }
  // The NID may have been parked, for 96 s of the device's time.
  bool works_again() {
    bench_.cable.now_ns += 96'000'000'000 / CableBench::kTimeDivisor;
    const std::array<std::byte, 64> header{};
    for (unsigned tries = 0; tries < 20; ++tries) {
      const std::uint64_t good = ledgers_[0].good;
      const std::uint64_t cookie = ++posted_;
      if (!near().send(peer_, header, {}, cookie).has_value()) {
        --posted_;
        continue;
      }
      if (!bench_.run([&] { return ledgers_[0].ended.contains(cookie); })) return false;
      if (ledgers_[0].good > good) return true;
    }
    return false;
  }

  Random random_;
  CableBench bench_;
  Mishap mishap_;
  std::array<Ledger, 2> ledgers_;
  kfilnd::Target peer_;
  std::uint64_t posted_ = 0;
};

TEST(CassiniCable, EveryOperationEndsOnceUnderAllFaults) {
  std::array<std::uint64_t, static_cast<std::size_t>(Mishap::kKinds)> undelivered{};
  for_seeds([&](std::uint64_t seed) {
    const auto misfortune = std::make_unique<Misfortune>(seed);
    misfortune->run();
    undelivered[static_cast<std::size_t>(misfortune->mishap())] += misfortune->undelivered();
  });
  if (seeds_count < 100) return;
  for (const std::uint64_t count : undelivered)
    EXPECT_GT(count, 0U) << "a mishap that harms nothing";
}

}  // namespace

void set_seeds(std::uint64_t first, std::uint64_t count) {
  seeds_first = first;
  seeds_count = count;
}

}  // namespace plnet::cassini::cable_seeds_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::uint64_t first = 1;
  std::uint64_t count = plnet::mocks::has_few_seeds() ? 10 : 100;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with("--seeds=")) {
      count = std::strtoull(argv[i] + 8, nullptr, 10);
    } else if (word.starts_with("--first=")) {
      first = std::strtoull(argv[i] + 8, nullptr, 10);
    } else {
      (void)std::fprintf(stderr, "unknown: %s; expected --seeds=N --first=N\n", argv[i]);
      return 2;
    }
  }
  plnet::cassini::cable_seeds_test::set_seeds(first, count);
  return RUN_ALL_TESTS();
}

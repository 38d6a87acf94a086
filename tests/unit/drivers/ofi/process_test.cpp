// SPDX-License-Identifier: BSD-3-Clause
// Two processes: each operation once, and a peer that is killed during one of our reads.
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit/drivers/ofi/rig.hpp"

namespace plnet::ofi {
namespace {

using kfilnd::FabricEvent;
using Id = OfiCounters::Id;
using OfiProcesses = OfiTest;

constexpr kfilnd::Tag kSource = 11;
constexpr kfilnd::Tag kSink = 12;
constexpr kfilnd::Tag kTheirs = 13;
constexpr std::uint32_t kBytes = 100'000;

enum class Fate : std::uint8_t {
  kStays,
  kDiesBeforeItsFirstTurn,
  kDiesReading,
  kDiesHavingGranted,
  kLeaves,
  kReturns,  // leaves, and greets again
  kReturnsSilently
};

// Reads the parent's source upon the first message, then writes into its sink.
class Child final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& completion : burst) {
      if (completion.event == FabricEvent::kMessage && !met)
        met = endpoint->read_tagged(peer, kSource, payload, 1).has_value();
      if (completion.event == FabricEvent::kRemoteDone && completion.cookie == 1)
        (void)endpoint->write_tagged(peer, kSink, payload, 2);
    }
  }
  void on_link(bool, std::uint64_t) override {}

  Endpoint* endpoint = nullptr;
  kfilnd::Target peer;
  Fragment buffer{{0, 200'000}, kBytes};
  lnet::Payload payload{{&buffer, 1}, 0, kBytes};
  bool met = false;
};

struct Plan {
  Fate fate = Fate::kStays;
  unsigned turns = 0;    // for kLeaves and kReturns: turns after the first message
  bool in_step = false;  // turns only on request of the parent
};

[[noreturn]] void be_child(const Provider& provider, const Site& site, int parent_end, Plan plan) {
  Side side;
  Child child;
  child.endpoint = &side.open(provider, 1, child, site);
  const DeviceConfig parent = device_config(provider, 0, site);
  child.peer = {child.endpoint->resolve(parent.nic_address, parent.service).value(), 0};
  (void)child.endpoint->post_multi_receive({{0, 0}, 65536}, 9);
  (void)child.endpoint->post_tagged(child.peer, kTheirs, true, child.payload, 8);
  (void)!write(parent_end, "r", 1);
  if (plan.fate == Fate::kDiesBeforeItsFirstTurn) {
    (void)pause();
    std::_Exit(1);
  }
  Instant now{};
  for (unsigned turn = 0; turn < 20'000'000; ++turn) {
    char byte = 0;
    if (plan.in_step && read(parent_end, &byte, 1) != 1) break;
    now += std::chrono::microseconds(1);
    const bool granted = child.endpoint->stats().get(Id::kTaggedTaken) > 0;
    (void)child.endpoint->poll(now);  // sends the grants of earlier turns
    if ((plan.fate == Fate::kDiesReading && child.endpoint->reads() > 0) ||
        (plan.fate == Fate::kDiesHavingGranted && granted))
      (void)kill(getpid(), SIGKILL);
    if (plan.fate >= Fate::kLeaves && child.met && plan.turns-- == 0) {
      side.endpoint.reset();
      while (plan.fate == Fate::kLeaves)
        (void)pause();
      EndpointConfig config = endpoint_config(1);
      config.seed += 1'000'000'000;
      side.endpoint = Endpoint::create(*side.device, config, child).value();
      child.endpoint = side.endpoint.get();
      child.peer = {child.endpoint->resolve(parent.nic_address, parent.service).value(), 0};
      (void)child.endpoint->post_multi_receive({{0, 0}, 65536}, 9);
      const std::array<std::byte, 8> header{};
      if (plan.fate == Fate::kReturns) (void)child.endpoint->send(child.peer, header, {}, 3);
      plan.fate = Fate::kStays;
    }
    if (plan.in_step) (void)!write(parent_end, "s", 1);
    std::this_thread::yield();
  }
  std::_Exit(1);
}

// The other process: started, awaited until it is ready, killed at the end.
class Partner {
 public:
  Partner(const Provider& provider, const Site& site, Plan plan)
      : config_(device_config(provider, 1, site)) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      (void)close(ends[0]);
      be_child(provider, site, ends[1], plan);
    }
    (void)close(ends[1]);
    end_ = ends[0];
    char byte = 0;
    ready_ = read(end_, &byte, 1) == 1;
  }
  ~Partner() {
    end();
    (void)close(end_);
    if (config_.addresses.family == Family::kInet) return;
    Claim claim;  // removes the shared memory of the killed process
    (void)claim.take({config_.nic_address, config_.service, 0}, 1);
  }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;
  [[nodiscard]] bool ready() const { return ready_; }
  // Lets it turn once; false: it has exited.
  [[nodiscard]] bool step() {
    char byte = 0;
    return ::send(end_, "s", 1, MSG_NOSIGNAL) == 1 && read(end_, &byte, 1) == 1;
  }
  void end() {
    if (pid_ < 0) return;
    (void)kill(pid_, SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  DeviceConfig config_;
  pid_t pid_ = -1;
  int end_ = -1;
  bool ready_ = false;
};

struct Parent {
  Parent(const Provider& provider, const Site& site) : bench(provider, site) {
    user.driver = &bench.make(0, user);
    const auto [nic, service] = bench.process(1);
    peer = {user.driver->resolve(nic, service).value(), 0};
    for (std::uint32_t i = 0; i < kBytes; ++i)
      bench.memory(0)[i] = static_cast<std::byte>(i * 13);
  }
  void open() {
    ASSERT_TRUE(user.driver->post_tagged(peer, kSource, true, conformance::payload_of(source), 70));
    ASSERT_TRUE(user.driver->post_tagged(peer, kSink, false, conformance::payload_of(sink), 71));
    for (std::uint64_t i = 0; i < 20; ++i)
      ASSERT_TRUE(user.driver->send(peer, header, {}, i));
  }

  OfiBench bench;
  conformance::EndpointUser user;
  kfilnd::Target peer;
  Fragment source{{0, 0}, kBytes};
  Fragment sink{{0, 300'000}, kBytes};
  std::array<std::byte, 100> header{};
};

TEST_P(OfiProcesses, EverythingOnce) {
  const Site site = next_site();
  const Partner partner(GetParam(), site, {});
  ASSERT_TRUE(partner.ready());
  Parent parent(GetParam(), site);
  parent.open();
  ASSERT_TRUE(parent.bench.run([&] { return parent.user.ended.size() == 22; }));
  for (const auto& [cookie, completion] : parent.user.ended)
    EXPECT_TRUE(completion.status.has_value()) << cookie;
  EXPECT_EQ(parent.user.ended[70].event, FabricEvent::kTaggedRead);
  EXPECT_EQ(parent.user.ended[71].event, FabricEvent::kTaggedWritten);
  EXPECT_TRUE(std::ranges::equal(parent.bench.memory(0).first(kBytes),
                                 parent.bench.memory(0).subspan(300'000, kBytes)));
}

// It dies by kill -9 with the grant received and its read begun.
TEST_P(OfiProcesses, PeerIsKilledInMidTransfer) {
  const Site site = next_site();
  const Partner partner(GetParam(), site, {Fate::kDiesReading});
  ASSERT_TRUE(partner.ready());
  Parent parent(GetParam(), site);
  parent.open();
  ASSERT_TRUE(parent.bench.run([&] {
    return parent.user.ended.contains(70) && parent.user.ended.size() == 21;
  })) << parent.user.ended.size();
  EXPECT_EQ(parent.user.ended[70].event, FabricEvent::kTaggedFailed);
  EXPECT_TRUE(parent.user.driver->cancel_tagged(kSink).has_value()) << "it was not taken";
  // Messages to the dead peer end as well.
  ASSERT_TRUE(parent.user.post(
      parent.bench, [&] { return parent.user.driver->send(parent.peer, parent.header, {}, 30); }));
  ASSERT_TRUE(parent.user.post(parent.bench, [&] {
    return parent.user.driver->write_tagged(parent.peer, 5, conformance::payload_of(parent.source),
                                            31);
  }));
  ASSERT_TRUE(parent.bench.run([&] { return parent.user.ended.size() == 24; }));
  EXPECT_FALSE(parent.user.ended[30].status.has_value());
  EXPECT_FALSE(parent.user.ended[31].status.has_value());
  parent.user.driver->shut_down();
  EXPECT_TRUE(parent.bench.run([&] { return parent.user.driver->quiet(); }));
}

// The memory of a grant is gone when we read it.
TEST_P(OfiProcesses, PeerIsKilledHavingGranted) {
  const Site site = next_site();
  Partner partner(GetParam(), site, {.fate = Fate::kDiesHavingGranted, .in_step = true});
  ASSERT_TRUE(partner.ready());
  Parent parent(GetParam(), site);
  ASSERT_TRUE(parent.user.post(parent.bench, [&] {
    return parent.user.driver->read_tagged(parent.peer, kTheirs,
                                           conformance::payload_of(parent.sink), 40);
  }));
  ASSERT_TRUE(parent.bench.run([&] {
    (void)partner.step();
    return parent.user.ended.contains(40);
  }));
  EXPECT_FALSE(parent.user.ended[40].status.has_value());
  if (GetParam().family == Family::kName) {
    EXPECT_EQ(parent.user.ended[40].status, std::unexpected(Errc::kIo))
        << "notified, not timed out";
  }
  parent.user.driver->shut_down();
  EXPECT_TRUE(parent.bench.run([&] { return parent.user.driver->quiet(); }));
}

// True if a message reaches the peer's new process within some tries.
bool reaches(Parent& parent) {
  bool reached = false;
  for (std::uint64_t cookie = 100; cookie < 120 && !reached; ++cookie) {
    EXPECT_TRUE(parent.user.post(parent.bench, [&] {
      return parent.user.driver->send(parent.peer, parent.header, {}, cookie);
    }));
    EXPECT_TRUE(parent.bench.run([&] { return parent.user.ended.contains(cookie); }));
    reached = parent.user.ended[cookie].status.has_value();
  }
  return reached;
}

// Its address and its process number are the same as before.
TEST_P(OfiProcesses, PeerLeavesAndComesBackInItsProcess) {
  for (const Fate fate : {Fate::kReturns, Fate::kReturnsSilently}) {
    for (const unsigned turns : {0U, 3U, 50U}) {
      SCOPED_TRACE(turns);
      const Site site = next_site();
      const Partner partner(GetParam(), site, {fate, turns});
      ASSERT_TRUE(partner.ready());
      Parent parent(GetParam(), site);
      parent.open();
      ASSERT_TRUE(parent.bench.run([&] { return parent.user.ended.size() >= 20; }));
      EXPECT_TRUE(reaches(parent));
    }
  }
}

// It has our message and will never read it.
TEST_P(OfiProcesses, AnotherTakesThePlaceOfOneThatDiedBeforeItsFirstTurn) {
  const Site site = next_site();
  Partner first(GetParam(), site, {Fate::kDiesBeforeItsFirstTurn});
  ASSERT_TRUE(first.ready());
  Parent parent(GetParam(), site);
  parent.open();
  for (unsigned turn = 0; turn < 100; ++turn)
    (void)parent.bench.run([] { return true; });
  first.end();
  const Partner second(GetParam(), site, {});
  ASSERT_TRUE(second.ready());
  EXPECT_TRUE(reaches(parent));
}

TEST_P(OfiProcesses, AnotherTakesThePlaceOfOneThatWasKilled) {
  const Site site = next_site();
  Partner first(GetParam(), site, {});
  ASSERT_TRUE(first.ready());
  Parent parent(GetParam(), site);
  parent.open();
  ASSERT_TRUE(parent.bench.run([&] { return parent.user.ended.size() == 22; }));
  first.end();
  const Partner second(GetParam(), site, {});
  ASSERT_TRUE(second.ready());
  EXPECT_TRUE(reaches(parent));
}

TEST_P(OfiProcesses, PeerLeavesAtEveryTurn) {
  for (unsigned turns = 0; turns < 6; ++turns) {
    SCOPED_TRACE(turns);
    const Site site = next_site();
    const Partner partner(GetParam(), site, {Fate::kLeaves, turns});
    ASSERT_TRUE(partner.ready());
    Parent parent(GetParam(), site);
    parent.open();
    ASSERT_TRUE(parent.bench.run([&] {
      std::size_t ended = 0;
      for (std::uint64_t i = 0; i < 20; ++i)
        ended += parent.user.ended.contains(i) ? 1U : 0U;
      return ended == 20;
    }));
    parent.user.driver->shut_down();
    EXPECT_TRUE(parent.bench.run([&] { return parent.user.driver->quiet(); }));
  }
}

INSTANTIATE_TEST_SUITE_P(, OfiProcesses, testing::Values(kShm, kNet), provider_name);

}  // namespace
}  // namespace plnet::ofi

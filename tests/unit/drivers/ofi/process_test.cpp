// SPDX-License-Identifier: BSD-3-Clause
// Two processes: everything once, and a peer that is killed with a read of ours under way.
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/unit/drivers/ofi/rig.hpp"

namespace plnet::ofi {
namespace {

using kfilnd::FabricEvent;
using OfiProcesses = OfiTest;

constexpr kfilnd::Tag kSource = 11;
constexpr kfilnd::Tag kSink = 12;
constexpr std::uint32_t kBytes = 100'000;

// Reads the parent's source for the first message that comes, then writes into its sink.
class Child final : public kfilnd::EndpointEvents {
 public:
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& completion : burst) {
      if (completion.event == FabricEvent::kMessage && !read_)
        read_ = endpoint->read_tagged(peer, kSource, payload, 1).has_value();
      if (completion.event == FabricEvent::kRemoteDone && completion.cookie == 1)
        (void)endpoint->write_tagged(peer, kSink, payload, 2);
    }
  }
  void on_link(bool, std::uint64_t) override {}

  Endpoint* endpoint = nullptr;
  kfilnd::Target peer;
  Fragment buffer{{0, 200'000}, kBytes};
  lnet::Payload payload{{&buffer, 1}, 0, kBytes};

 private:
  bool read_ = false;
};

[[noreturn]] void be_child(const Provider& provider, int run, int ready, bool dies) {
  Side side;
  Child child;
  child.endpoint = &side.open(provider, 1, child, run);
  const DeviceConfig parent = device_config(provider, 0, run);
  child.peer = {child.endpoint->resolve(parent.nic_address, parent.service).value(), 0};
  (void)child.endpoint->post_multi_receive({{0, 0}, 65536}, 9);
  (void)!write(ready, "r", 1);
  Instant now{};
  for (unsigned turn = 0; turn < 20'000'000; ++turn) {
    now += std::chrono::microseconds(1);
    (void)child.endpoint->poll(now);
    if (dies && child.endpoint->reads() > 0) (void)kill(getpid(), SIGKILL);
    std::this_thread::yield();
  }
  std::_Exit(1);
}

// The other process: started, waited for until it is ready, killed at the end.
class Partner {
 public:
  Partner(const Provider& provider, bool dies) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) std::abort();
    const int run = getpid();
    pid_ = fork();
    if (pid_ == 0) be_child(provider, run, ends[1], dies);
    (void)close(ends[1]);
    char byte = 0;
    ready_ = read(ends[0], &byte, 1) == 1;
    (void)close(ends[0]);
  }
  ~Partner() {
    (void)kill(pid_, SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
  }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

struct Parent {
  explicit Parent(const Provider& provider) : bench(provider) {
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
  Partner partner(GetParam(), false);
  ASSERT_TRUE(partner.ready());
  Parent parent(GetParam());
  parent.open();
  ASSERT_TRUE(parent.bench.run([&] { return parent.user.ended.size() == 22; }));
  for (const auto& [cookie, completion] : parent.user.ended)
    EXPECT_TRUE(completion.status.has_value()) << cookie;
  EXPECT_EQ(parent.user.ended[70].event, FabricEvent::kTaggedRead);
  EXPECT_EQ(parent.user.ended[71].event, FabricEvent::kTaggedWritten);
  EXPECT_TRUE(std::ranges::equal(parent.bench.memory(0).first(kBytes),
                                 parent.bench.memory(0).subspan(300'000, kBytes)));
}

// It dies by kill -9 with the grant in hand and its read begun.
TEST_P(OfiProcesses, PeerIsKilledInMidTransfer) {
  Partner partner(GetParam(), true);
  ASSERT_TRUE(partner.ready());
  Parent parent(GetParam());
  parent.open();
  ASSERT_TRUE(parent.bench.run([&] {
    return parent.user.ended.contains(70) && parent.user.ended.size() == 21;
  })) << parent.user.ended.size();
  EXPECT_EQ(parent.user.ended[70].event, FabricEvent::kTaggedFailed);
  EXPECT_TRUE(parent.user.driver->cancel_tagged(kSink).has_value()) << "nobody has taken it";
  // And what is sent to the dead ends too.
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

INSTANTIATE_TEST_SUITE_P(, OfiProcesses, testing::Values(kShm, kNet), provider_name);

}  // namespace
}  // namespace plnet::ofi

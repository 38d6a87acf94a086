// SPDX-License-Identifier: BSD-3-Clause
// After warm-up a simulated message allocates nothing.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/endpoint_driver.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "tests/unit/drivers/counting_new.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::drivers {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr unsigned kHosts = 5;
constexpr HeapCalls kNothing{};

void expect_none(EventLoop& loop, const std::uint64_t& messages) {
  loop.run_for(std::chrono::milliseconds(50));
  const std::uint64_t before = messages;
  EXPECT_EQ(heap_calls_of([&] { loop.run_for(std::chrono::milliseconds(20)); }), kNothing);
  EXPECT_GT(messages - before, 500U);
}

// Echoes received bytes as far as there is room.
struct StreamEcho final : socklnd::StreamEvents {
  explicit StreamEcho(std::uint64_t& count) : messages(count) {}
  std::span<std::byte> destination(socklnd::StreamId /*stream*/) override { return {}; }
  std::size_t on_bytes(socklnd::StreamId stream, std::size_t /*direct*/,
                       std::span<const std::byte> staged) override {
    ++messages;
    owed += staged.size();
    send(stream);
    return staged.size();
  }
  void on_writable(socklnd::StreamId stream) override { send(stream); }
  void on_connected(socklnd::StreamId stream, const socklnd::StreamAddresses& /*at*/) override {
    owed += 5000;
    send(stream);
  }
  void on_accepted(socklnd::StreamId /*stream*/, const socklnd::StreamAddresses& /*at*/) override {}
  void on_closed(socklnd::StreamId /*stream*/, Errc /*cause*/, std::uint64_t /*lost*/) override {}
  void send(socklnd::StreamId stream) {
    static constexpr std::array<std::byte, 1000> kBytes{};
    const std::array<std::span<const std::byte>, 1> pieces{
        std::span(kBytes).first(std::min(owed, kBytes.size()))};
    if (owed > 0) owed -= driver->write(stream, pieces);
  }
  std::uint64_t& messages;
  socklnd::StreamDriver* driver = nullptr;
  std::size_t owed = 0;
};

TEST(SimNoAllocation, Streams) {
  SimCluster cluster(1, SimShape::rough(), kHosts);
  SimStreamFabric fabric(cluster.network, cluster.shape.stream, 1);
  std::uint64_t messages = 0;
  std::vector<std::unique_ptr<StreamEcho>> echoes;
  std::vector<std::unique_ptr<SimStreamDriver>> drivers;
  const auto address = [](unsigned host) {
    return socklnd::SocketAddress{mapped_ipv4(kFirstAddress + host), 988};
  };
  for (unsigned i = 0; i < kHosts; ++i) {
    echoes.push_back(std::make_unique<StreamEcho>(messages));
    drivers.push_back(std::make_unique<SimStreamDriver>(fabric, i, *echoes[i], *cluster.shards[i]));
    echoes[i]->driver = drivers[i].get();
    cluster.shards[i]->add(*drivers[i]);
    ASSERT_TRUE(drivers[i]->listen(address(i), 64, {}).has_value());
  }
  for (unsigned i = 0; i < kHosts; ++i) {
    socklnd::ConnectRequest request;
    request.addresses.remote = address((i + 1) % kHosts);
    ASSERT_TRUE(drivers[i]->connect(request).has_value());
  }
  expect_none(cluster.loop, messages);
}

struct VerbsEcho final : o2iblnd::VerbsEvents {
  explicit VerbsEcho(std::uint64_t& count) : messages(count) {}
  void on_completions(std::span<const o2iblnd::WorkCompletion> burst) override {
    for (const auto& one : burst) {
      if (one.event != o2iblnd::WorkEvent::kReceived) continue;
      ++messages;
      receive(one.queue_pair);
      ++owed;
    }
    while (owed > 0 && send(burst.front().queue_pair))
      --owed;
  }
  void on_connect_request(o2iblnd::QueuePairId id, const o2iblnd::Ipv4Endpoint& /*from*/,
                          const o2iblnd::Ipv4Endpoint& /*to*/,
                          std::span<const std::byte> /*data*/) override {
    ASSERT_TRUE(driver->prepare(id, {32, 32}).has_value());
    for (unsigned i = 0; i < 32; ++i)
      receive(id);
    ASSERT_TRUE(driver->accept(id, {}, {}).has_value());
  }
  void on_established(o2iblnd::QueuePairId id, std::span<const std::byte> data) override {
    for (unsigned i = 0; i < 8 && !data.empty(); ++i)
      (void)send(id);
  }
  void on_rejected(o2iblnd::QueuePairId /*id*/, o2iblnd::RejectKind /*kind*/,
                   std::span<const std::byte> /*data*/) override {}
  void on_disconnected(o2iblnd::QueuePairId /*id*/, Errc cause) override {
    ADD_FAILURE() << name_of(cause);
  }
  void on_drained(o2iblnd::QueuePairId /*id*/) override {}
  void on_device(bool /*usable*/, Errc /*cause*/) override {}
  void receive(o2iblnd::QueuePairId id) {
    const o2iblnd::ReceiveRequest request{.buffer = {{0, 0}, 128}};
    (void)driver->post_receives(id, {&request, 1});
  }
  bool send(o2iblnd::QueuePairId id) {
    const o2iblnd::WorkRequest request{.piece_count = 1, .pieces = {Fragment{{0, 128}, 100}}};
    return driver->post_chain(id, {&request, 1});
  }
  std::uint64_t& messages;
  o2iblnd::VerbsDriver* driver = nullptr;
  unsigned owed = 0;
};

TEST(SimNoAllocation, QueuePairs) {
  SimCluster cluster(1, SimShape::rough(), 2);
  SimVerbsFabric fabric(cluster.network, cluster.shape.verbs, 1);
  std::vector<std::byte> memory(4096);
  ArenaTable arenas;
  (void)arenas.add({.base = memory.data(), .size = memory.size()});
  std::uint64_t messages = 0;
  std::array<VerbsEcho, 2> echoes{VerbsEcho(messages), VerbsEcho(messages)};
  std::array<std::unique_ptr<SimVerbsDriver>, 2> drivers;
  for (unsigned i = 0; i < 2; ++i) {
    drivers[i] = std::make_unique<SimVerbsDriver>(fabric, i, arenas, echoes[i], *cluster.shards[i]);
    echoes[i].driver = drivers[i].get();
    cluster.shards[i]->add(*drivers[i]);
  }
  ASSERT_TRUE(drivers[1]->listen({kFirstAddress + 1, 987}).has_value());
  const auto pair =
      drivers[0]->connect({kFirstAddress, 0}, {kFirstAddress + 1, 987}, {32, 32}, {}, {});
  ASSERT_TRUE(pair.has_value());
  for (unsigned i = 0; i < 32; ++i)
    echoes[0].receive(*pair);
  expect_none(cluster.loop, messages);
}

// Each side in turn posts a buffer and announces it by a message; the other side reads it.
struct EndpointEcho final : kfilnd::EndpointEvents {
  explicit EndpointEcho(std::uint64_t& count) : messages(count) {}
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& one : burst) {
      EXPECT_TRUE(one.status.has_value());
      if (one.event == kfilnd::FabricEvent::kMessage) {
        ++messages;
        if (one.buffer_unlinked) post(one.cookie);
        (void)driver->read_tagged(peer, 7, {{&fragment, 1}, 0, 100}, 1);
      } else if (one.event == kfilnd::FabricEvent::kBufferUnlinked) {
        post(one.cookie);
      } else if (one.event == kfilnd::FabricEvent::kTaggedRead) {
        start();
      }
    }
  }
  void on_link(bool /*usable*/, std::uint64_t /*nic*/) override {}
  void post(std::uint64_t cookie) {
    EXPECT_TRUE(
        driver->post_multi_receive({{0, 4096 + cookie * 16'384}, 16'384}, cookie).has_value());
  }
  void start() {
    static constexpr std::array<std::byte, 96> kHeader{};
    EXPECT_TRUE(driver->post_tagged(peer, 7, true, {{&fragment, 1}, 0, 100}, 1).has_value());
    EXPECT_TRUE(driver->send(peer, kHeader, {}, 2).has_value());
  }
  std::uint64_t& messages;
  SimEndpointDriver* driver = nullptr;
  kfilnd::Target peer;
  Fragment fragment{{0, 0}, 100};
};

TEST(SimNoAllocation, Endpoints) {
  SimCluster cluster(1, SimShape::calm(), 2);
  SimEndpointFabric fabric(cluster.network, {}, 1);
  std::vector<std::byte> memory(65'536);
  ArenaTable arenas;
  (void)arenas.add({.base = memory.data(), .size = memory.size()});
  std::uint64_t messages = 0;
  std::array<EndpointEcho, 2> echoes{EndpointEcho(messages), EndpointEcho(messages)};
  std::array<std::unique_ptr<SimEndpointDriver>, 2> drivers;
  for (unsigned i = 0; i < 2; ++i) {
    const SimEndpointConfig config{
        .host = i, .process = {0x10 + i, 0}, .limits = {.operations_max = 64}};
    drivers[i] =
        std::make_unique<SimEndpointDriver>(fabric, config, arenas, echoes[i], *cluster.shards[i]);
    echoes[i].driver = drivers[i].get();
    cluster.shards[i]->add(*drivers[i]);
    echoes[i].post(0);
    echoes[i].post(1);
  }
  for (unsigned i = 0; i < 2; ++i) {
    echoes[i].peer = {drivers[i]->resolve(0x11 - i, 0).value(), 0};
    echoes[i].start();
  }
  cluster.loop.run_for(std::chrono::milliseconds(50));
  const std::uint64_t before = messages;
  EXPECT_EQ(heap_calls_of([&] { cluster.loop.run_for(std::chrono::milliseconds(50)); }), kNothing);
  EXPECT_GT(messages - before, 3000U);
}

}  // namespace
}  // namespace plnet::drivers

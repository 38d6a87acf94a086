// SPDX-License-Identifier: BSD-3-Clause
// Payload of a megabyte between lazy arenas through each of the simulator's drivers: complete, in
// the right place, without a copy; and corruption is detected.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/endpoint_driver.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::drivers::sim_lazy_transfer_test {
namespace {

constexpr std::uint32_t kMegabyte = 1U << 20U;
constexpr std::uint64_t kArenaBytes = 16ULL * kMegabyte;
constexpr std::uint64_t kSink = 3ULL * kMegabyte + 500;
constexpr PatternRun kPayload{77, 4096, kMegabyte};

// Two hosts with a lazy arena each; a payload lies at the beginning of the first one.
struct LazyCluster : SimCluster {
  explicit LazyCluster(std::uint64_t seed, const SimShape& the_shape)
      : SimCluster(seed, the_shape), lazy(LazyMemory::reserve(1ULL << 32U).value()) {
    network.set_lazy_memory(*lazy);
    for (ArenaTable& table : arenas)
      (void)table.add(lazy->make_arena(kArenaBytes).value());
    lazy->fill(memory(0, 0, kMegabyte), kPayload);
  }
  [[nodiscard]] std::span<std::byte> memory(unsigned side, std::uint64_t at,
                                            std::uint32_t count) const {
    return arenas[side].bytes({{0, at}, count});
  }
  [[nodiscard]] std::optional<std::uint64_t> wrong_at_sink() const {
    return lazy->first_wrong(memory(1, kSink, kMegabyte), kPayload);
  }
  [[nodiscard]] std::uint64_t touched() const { return lazy->bytes_touched(); }

  std::unique_ptr<LazyMemory> lazy;
  std::array<ArenaTable, 2> arenas;
};

// Like an LND: a header, then a payload that goes to its own place. Staged payload is copied by
// hand.
struct Receiver final : socklnd::StreamEvents {
  static constexpr std::size_t kHeader = 24;

  std::span<std::byte> destination(socklnd::StreamId /*stream*/) override {
    return header == kHeader ? target.subspan(got) : std::span<std::byte>{};
  }
  std::size_t on_bytes(socklnd::StreamId /*stream*/, std::size_t direct,
                       std::span<const std::byte> staged) override {
    got += direct;
    std::size_t used = std::min(kHeader - header, staged.size());
    header += used;
    if (header == kHeader) {
      const std::size_t rest = std::min(staged.size() - used, target.size() - got);
      if (rest > 0) std::memcpy(target.data() + got, staged.data() + used, rest);
      got += rest;
      used += rest;
      copied_by_hand += rest;
    }
    if (header == kHeader && got == target.size()) {  // continue with the next one
      header = got = 0;
      ++messages;
    }
    EXPECT_EQ(used, staged.size()) << "one message at a time";
    return used;
  }
  void on_writable(socklnd::StreamId /*stream*/) override { writable = true; }
  void on_connected(socklnd::StreamId id, const socklnd::StreamAddresses& /*at*/) override {
    stream = id;
  }
  void on_accepted(socklnd::StreamId id, const socklnd::StreamAddresses& /*at*/) override {
    stream = id;
  }
  void on_closed(socklnd::StreamId /*stream*/, Errc /*cause*/, std::uint64_t /*lost*/) override {}

  std::span<std::byte> target;
  std::size_t header = 0;
  std::size_t got = 0;
  std::size_t copied_by_hand = 0;
  unsigned messages = 0;
  bool writable = false;
  std::optional<socklnd::StreamId> stream;
};

class LazyStream {
 public:
  LazyStream(std::uint64_t seed, const SimShape& shape)
      : cluster(seed, shape), fabric(cluster.network, shape.stream, seed) {
    for (unsigned side = 0; side < 2; ++side) {
      drivers[side] =
          std::make_unique<SimStreamDriver>(fabric, side, ends[side], *cluster.shards[side]);
      cluster.shards[side]->add(*drivers[side]);
    }
    const socklnd::SocketAddress far{mapped_ipv4(kFirstAddress + 1), 988};
    (void)drivers[1]->listen(far, 8, {});
    socklnd::ConnectRequest request;
    request.addresses.remote = far;
    (void)drivers[0]->connect(request);
    EXPECT_TRUE(cluster.run([&] { return ends[0].stream && ends[1].stream; }));
    ends[1].target = cluster.memory(1, kSink, kMegabyte);
  }
  // Sends header and payload as far as the stream accepts them, until everything has arrived.
  void transfer(std::span<const std::byte> payload) {
    const std::array<std::byte, Receiver::kHeader> header{};
    std::size_t sent = 0;
    const std::size_t all = header.size() + payload.size();
    const unsigned before = ends[1].messages;
    ends[1].target = ends[1].target.first(payload.size());
    ASSERT_TRUE(cluster.run([&] {
      if (sent < all && (sent == 0 || ends[0].writable)) {
        ends[0].writable = false;
        const std::size_t of_header = std::min(sent, header.size());
        const std::array<std::span<const std::byte>, 2> pieces{std::span(header).subspan(of_header),
                                                               payload.subspan(sent - of_header)};
        sent += drivers[0]->write(*ends[0].stream, pieces);
        if (sent == 0) ends[0].writable = true;
      }
      return ends[1].messages > before;
    })) << sent;
  }

  LazyCluster cluster;
  SimStreamFabric fabric;
  std::array<Receiver, 2> ends;
  std::array<std::unique_ptr<SimStreamDriver>, 2> drivers;
};

TEST(SimLazyTransfer, AStreamMovesAMegabyteWithoutCopyingIt) {
  LazyStream stream(1, SimShape::calm());
  const std::uint64_t before = stream.cluster.touched();
  stream.transfer(stream.cluster.memory(0, 0, kMegabyte));
  EXPECT_EQ(stream.cluster.wrong_at_sink(), std::nullopt);
  EXPECT_EQ(stream.cluster.touched() - before, LazyMemory::kHead);
  EXPECT_EQ(stream.ends[1].copied_by_hand, 0U);
  EXPECT_LT(stream.cluster.network.pool().bytes_made(), 100'000U);
}

TEST(SimLazyTransfer, AStreamThatCutsAnywhereKeepsPayloadWhole) {
  for_each_seed(20, [&](std::uint64_t seed) {
    LazyStream stream(seed, SimShape::rough());
    for (unsigned round = 0; round < 2; ++round) {
      stream.transfer(stream.cluster.memory(0, 0, kMegabyte));
      ASSERT_EQ(stream.cluster.wrong_at_sink(), std::nullopt);
    }
    // The second payload splits the first one's run before each segment.
    EXPECT_LT(stream.cluster.touched(), 2U * kMegabyte / 32U);
  });
}

// A buffer holds described payload, then plain bytes, then a mix, like a router's buffer.
TEST(SimLazyTransfer, AStreamMixesPlainAndDescribedPayload) {
  for_each_seed(20, [&](std::uint64_t seed) {
    LazyStream stream(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm());
    std::vector<std::byte> plain(50'000 + seed * 1000);
    write_pattern({3, seed, plain.size()}, plain);
    const std::span<std::byte> sink = stream.cluster.memory(1, kSink, kMegabyte);
    stream.transfer(stream.cluster.memory(0, 0, kMegabyte));
    stream.transfer(plain);
    std::vector<std::byte> back(plain.size());
    stream.cluster.lazy->copy(back.data(), sink.first(plain.size()));
    ASSERT_EQ(back, plain);

    const std::span<std::byte> mixed = stream.cluster.memory(0, 8 * kMegabyte, 30'000);
    stream.cluster.lazy->fill(mixed, {5, 0, mixed.size()});
    stream.cluster.lazy->put(mixed.data() + 10'000, std::span(plain).first(300));
    stream.transfer(mixed);
    std::vector<std::byte> wanted(mixed.size());
    stream.cluster.lazy->copy(wanted.data(), mixed);
    back.resize(mixed.size());
    stream.cluster.lazy->copy(back.data(), sink.first(mixed.size()));
    ASSERT_EQ(back, wanted);
  });
}

TEST(SimLazyTransfer, AStreamThatGoesWrongIsFound) {
  LazyStream stream(1, SimShape::calm());
  LazyCluster& cluster = stream.cluster;
  std::vector<std::byte> scratch(1000);  // a fault driver sends a part from a copy
  cluster.lazy->copy(scratch.data(), cluster.memory(0, 0, 1000));
  scratch[400] ^= std::byte{0x20};
  cluster.lazy->put(cluster.memory(0, 0, 1000).data(), scratch);
  stream.transfer(cluster.memory(0, 0, kMegabyte));
  EXPECT_EQ(cluster.wrong_at_sink(), 400U) << "corrupted on its way";
  cluster.lazy->fill(cluster.memory(0, 0, kMegabyte), kPayload);
  stream.transfer(cluster.memory(0, 0, kMegabyte));
  EXPECT_EQ(cluster.wrong_at_sink(), std::nullopt);
  stream.ends[1].target = cluster.memory(1, kSink + 1, kMegabyte);
  stream.transfer(cluster.memory(0, 0, kMegabyte));
  EXPECT_EQ(cluster.wrong_at_sink(), 1U) << "misplaced by a byte, behind one of the last time";
}

struct Verbs final : o2iblnd::VerbsEvents {
  void on_completions(std::span<const o2iblnd::WorkCompletion> burst) override {
    for (const auto& one : burst)
      (one.status ? done : failed) += 1;
  }
  void on_connect_request(o2iblnd::QueuePairId id, const o2iblnd::Ipv4Endpoint& /*from*/,
                          const o2iblnd::Ipv4Endpoint& /*to*/,
                          std::span<const std::byte> /*data*/) override {
    pair = id;
    (void)driver->prepare(id, {8, 8});
    (void)driver->accept(id, {}, {});
  }
  void on_established(o2iblnd::QueuePairId id, std::span<const std::byte> /*data*/) override {
    pair = id;
    up = true;
  }
  void on_rejected(o2iblnd::QueuePairId /*id*/, o2iblnd::RejectKind /*kind*/,
                   std::span<const std::byte> /*data*/) override {}
  void on_disconnected(o2iblnd::QueuePairId /*id*/, Errc /*cause*/) override {}
  void on_drained(o2iblnd::QueuePairId /*id*/) override {}
  void on_device(bool /*usable*/, Errc /*cause*/) override {}

  o2iblnd::VerbsDriver* driver = nullptr;
  o2iblnd::QueuePairId pair;
  bool up = false;
  unsigned done = 0;
  unsigned failed = 0;
};

TEST(SimLazyTransfer, AQueuePairWritesAMegabyteWithoutCopyingIt) {
  LazyCluster cluster(1, SimShape::calm());
  SimVerbsFabric fabric(cluster.network, {}, 1);
  std::array<Verbs, 2> ends;
  std::array<std::unique_ptr<SimVerbsDriver>, 2> drivers;
  for (unsigned side = 0; side < 2; ++side) {
    drivers[side] = std::make_unique<SimVerbsDriver>(fabric, side, cluster.arenas[side], ends[side],
                                                     *cluster.shards[side]);
    ends[side].driver = drivers[side].get();
    cluster.shards[side]->add(*drivers[side]);
  }
  ASSERT_TRUE(drivers[1]->listen({kFirstAddress + 1, 987}).has_value());
  ASSERT_TRUE(drivers[0]
                  ->connect({kFirstAddress, 0}, {kFirstAddress + 1, 987}, {8, 8}, {}, {})
                  .has_value());
  ASSERT_TRUE(cluster.run([&] { return ends[0].up && ends[1].up; }));
  const auto write = [&](std::uint64_t from, std::uint64_t to, std::uint32_t length) {
    const auto key = drivers[1]->remote_key({{0, to}, length}).value();
    const o2iblnd::WorkRequest request{
        .kind = o2iblnd::WorkKind::kWrite,
        .piece_count = 2,
        .pieces = {Fragment{{0, from}, 4000}, Fragment{{0, from + 4000}, length - 4000}},
        .remote_address = key.address,
        .remote_key = key.key};
    const unsigned before = ends[0].done;
    ASSERT_TRUE(drivers[0]->post_chain(ends[0].pair, {&request, 1}));
    ASSERT_TRUE(cluster.run([&] { return ends[0].done > before; }));
  };
  const std::uint64_t before = cluster.touched();
  write(0, kSink, kMegabyte);
  EXPECT_EQ(cluster.wrong_at_sink(), std::nullopt);
  EXPECT_EQ(cluster.touched() - before, LazyMemory::kHead);
  write(0, kSink + 8, kMegabyte);
  EXPECT_EQ(cluster.wrong_at_sink(), 8U) << "misplaced: the second one lies eight bytes behind";
  write(0, kSink, kMegabyte);
  EXPECT_EQ(cluster.wrong_at_sink(), std::nullopt);
  write(4096, kSink, kMegabyte - 4096);
  EXPECT_EQ(cluster.wrong_at_sink(), 0U) << "the wrong part";
  cluster.lazy->fill(cluster.memory(1, kSink, kMegabyte), {});
  write(0, kSink, kMegabyte - 5);
  EXPECT_EQ(cluster.wrong_at_sink(), kMegabyte - 5U) << "cut";
  // A small message into plain bytes of a lazy arena, as with every header.
  const std::string text = "a header that is none of a pattern's";
  std::memcpy(cluster.memory(0, 9 * kMegabyte, 100).data(), text.data(), text.size());
  const o2iblnd::ReceiveRequest receive{.buffer = {{0, kSink}, 4096}};
  ASSERT_EQ(drivers[1]->post_receives(ends[1].pair, {&receive, 1}), 1U);
  const o2iblnd::WorkRequest send{
      .piece_count = 1,
      .pieces = {Fragment{{0, 9 * kMegabyte}, static_cast<std::uint32_t>(text.size())}}};
  ASSERT_TRUE(drivers[0]->post_chain(ends[0].pair, {&send, 1}));
  ASSERT_TRUE(cluster.run([&] { return ends[1].done == 1; }));
  EXPECT_EQ(std::memcmp(cluster.memory(1, kSink, 100).data(), text.data(), text.size()), 0);
}

struct Endpoint final : kfilnd::EndpointEvents {
  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override {
    for (const auto& one : burst)
      (one.status ? done : failed) += 1;
  }
  void on_link(bool /*usable*/, std::uint64_t /*nic*/) override {}
  unsigned done = 0;
  unsigned failed = 0;
};

// `reads`: the far side reads our payload; otherwise the near side writes it there.
void endpoint_transfer(bool reads, bool torn) {
  SimShape shape = SimShape::calm();
  shape.endpoint.operation_torn = torn ? kAlways : 0;
  LazyCluster cluster(1, shape);
  SimEndpointFabric fabric(cluster.network, shape.endpoint, 1);
  std::array<Endpoint, 2> ends;
  std::array<std::unique_ptr<SimEndpointDriver>, 2> drivers;
  for (unsigned side = 0; side < 2; ++side) {
    drivers[side] = std::make_unique<SimEndpointDriver>(
        fabric,
        SimEndpointConfig{
            .host = side, .process = {0x10 + side, 0}, .limits = {.operations_max = 8}},
        cluster.arenas[side], ends[side], *cluster.shards[side]);
    cluster.shards[side]->add(*drivers[side]);
  }
  const kfilnd::Target far{drivers[0]->resolve(0x11, 0).value(), 0};
  const kfilnd::Target near{drivers[1]->resolve(0x10, 0).value(), 0};
  // Pieces with different boundaries on the two sides.
  const std::array<Fragment, 3> from{Fragment{{0, 0}, 1000}, Fragment{{0, 1000}, 500'000},
                                     Fragment{{0, 501'000}, kMegabyte - 501'000}};
  const std::array<Fragment, 2> to{Fragment{{0, kSink}, 700'000},
                                   Fragment{{0, kSink + 700'000}, kMegabyte - 700'000}};
  const lnet::Payload source{from, 0, kMegabyte};
  const lnet::Payload sink{to, 0, kMegabyte};
  const std::uint64_t before = cluster.touched();
  if (reads) {
    ASSERT_TRUE(drivers[0]->post_tagged(far, 5, true, source, 1).has_value());
    ASSERT_TRUE(drivers[1]->read_tagged(near, 5, sink, 2).has_value());
  } else {
    ASSERT_TRUE(drivers[1]->post_tagged(near, 5, false, sink, 1).has_value());
    ASSERT_TRUE(drivers[0]->write_tagged(far, 5, source, 2).has_value());
  }
  ASSERT_TRUE(cluster.run(
      [&] { return ends[0].done + ends[0].failed == 1 && ends[1].done + ends[1].failed == 1; }));
  EXPECT_EQ(cluster.wrong_at_sink().has_value(), torn);
  EXPECT_LE(cluster.touched() - before, LazyMemory::kHead);
}

TEST(SimLazyTransfer, AnEndpointMovesAMegabyteWithoutCopyingIt) {
  endpoint_transfer(true, false);
  endpoint_transfer(false, false);
}

TEST(SimLazyTransfer, ATornOperationOfAnEndpointIsFound) {
  endpoint_transfer(true, true);
  endpoint_transfer(false, true);
}

}  // namespace
}  // namespace plnet::drivers::sim_lazy_transfer_test

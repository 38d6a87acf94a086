// SPDX-License-Identifier: BSD-3-Clause
// Interfaces with several receive contexts on the driver for Cassini on the software Cassini: one
// device, with an endpoint and a kfi LND for each context.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "lib/kfilnd/context_mail.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "tests/mocks/fake_core.hpp"

namespace plnet::cassini::kfilnd_contexts_test {
namespace {

constexpr std::uint32_t kFirstAddress = 0x1a0;
constexpr std::uint64_t kReceiveBytes = 1U << 18U;
constexpr std::uint64_t kMemoryBytes = 4U << 20U;
using kfilnd::KfiLndCounters;

lnet::Nid nid_of(unsigned node) {
  return lnet::Nid::of(lnet::NetType::kKfi, 3, kFirstAddress + node);
}

class LastContext final : public kfilnd::PeerHomes {
 public:
  explicit LastContext(unsigned contexts) : home_(static_cast<std::uint8_t>(contexts - 1)) {}
  [[nodiscard]] Result<std::uint8_t> home_of(const lnet::Nid& /*peer*/) override { return home_; }

 private:
  const std::uint8_t home_;
};

struct Context {
  kfilnd::EndpointRelay relay;
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<mocks::FakeCore> core;
  std::unique_ptr<kfilnd::KfiLnd> lnd;
};

class KfiNode {
 public:
  KfiNode(soft::Fabric& fabric, unsigned node, unsigned contexts, bool always_bulk)
      : homes_(contexts), mail_(contexts), memory_(contexts * (kReceiveBytes + kMemoryBytes)) {
    const ArenaId id = arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
    soft::Nic& nic = fabric.add({.address = kFirstAddress + node});
    backend_ = std::make_unique<soft::SoftBackend>(fabric, std::vector<soft::Nic*>{&nic});
    device_ = Device::open(*backend_, {.pid = kfilnd::service_of(nid_of(node))}, arenas_).value();
    for (unsigned i = 0; i < contexts; ++i) {
      Context& one = *contexts_.emplace_back(std::make_unique<Context>());
      EndpointConfig config;
      config.limits = {.receive_contexts = static_cast<std::uint8_t>(contexts),
                       .receive_context = static_cast<std::uint8_t>(i),
                       .operations_max = 512};
      config.receive_event_bytes = 1U << 18U;
      one.endpoint = Endpoint::create(*device_, config, one.relay, nullptr).value();
      const std::uint64_t at = i * (kReceiveBytes + kMemoryBytes);
      one.core = std::make_unique<mocks::FakeCore>(
          mocks::FakeCoreConfig{.nid = nid_of(node),
                                .arenas = &arenas_,
                                .memory = {id, at + kReceiveBytes},
                                .memory_bytes = kMemoryBytes,
                                .seed = node * 8 + i});
      one.lnd = std::make_unique<kfilnd::KfiLnd>(
          kfilnd::KfiLndConfig{.nid = nid_of(node),
                               .arenas = &arenas_,
                               .receive_memory = {{id, at}, kReceiveBytes},
                               .always_bulk = always_bulk,
                               .mail = &mail_.end(static_cast<std::uint8_t>(i)),
                               .homes = &homes_},
          *one.core, *one.endpoint);
      one.relay.attach(*one.lnd);
      one.core->attach(*one.lnd);
    }
  }
  void turn(Instant now) {
    for (const auto& one : contexts_) {
      (void)one->endpoint->poll(now);
      (void)one->core->turn(now);
    }
  }
  [[nodiscard]] Context& home() { return *contexts_.back(); }
  [[nodiscard]] Context& first() { return *contexts_.front(); }
  [[nodiscard]] bool still() const {
    return std::ranges::all_of(
        contexts_, [](const auto& one) { return one->core->settled() && one->lnd->idle(); });
  }

 private:
  LastContext homes_;
  kfilnd::ContextMail mail_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::unique_ptr<soft::SoftBackend> backend_;
  std::unique_ptr<Device> device_;
  std::vector<std::unique_ptr<Context>> contexts_;
};

TEST(KfiContextsOnCassini, EachPeerIsServedByItsHome) {
  for (const unsigned contexts : {1U, 2U, 4U}) {
    for (const unsigned others : {1U, 2U, 4U}) {
      SCOPED_TRACE(std::to_string(contexts) + " against " + std::to_string(others));
      soft::Fabric fabric{soft::Freedom{}};
      std::array<std::unique_ptr<KfiNode>, 2> nodes = {
          std::make_unique<KfiNode>(fabric, 0, contexts, contexts == others),
          std::make_unique<KfiNode>(fabric, 1, others, contexts == others)};
      for (unsigned i = 0; i < 20; ++i) {
        for (unsigned from = 0; from < 2; ++from) {
          mocks::FakeCore& core = *nodes[from]->home().core;
          core.put(nid_of(1 - from), i % 2 == 0 ? 100 : 20000, i % 3 == 0);
          core.get(nid_of(1 - from), i % 2 == 0 ? 20000 : 100);
        }
      }
      Instant now{};
      unsigned quiet = 0;
      for (unsigned i = 0; i < 200'000 && quiet < 200; ++i) {
        now += std::chrono::microseconds(1);
        (void)fabric.step(static_cast<std::uint64_t>(now.time_since_epoch().count()));
        for (const auto& node : nodes)
          node->turn(now);
        quiet = nodes[0]->still() && nodes[1]->still() ? quiet + 1 : 0;
      }
      ASSERT_EQ(quiet, 200U);
      for (unsigned i = 0; i < 2; ++i) {
        KfiNode& node = *nodes[i];
        EXPECT_EQ(node.home().core->breaches(), std::vector<std::string>{});
        EXPECT_EQ(node.home().core->tally().failed, 0U);
        EXPECT_EQ(node.home().core->tally().wrong_bytes, 0U);
        EXPECT_EQ(node.home().lnd->count(KfiLndCounters::Id::kPeersMade), 1U);
        const unsigned own = i == 0 ? contexts : others;
        if (own == 1) continue;
        EXPECT_EQ(node.first().lnd->peer(nid_of(1 - i)), nullptr);
        EXPECT_GE(node.first().lnd->count(KfiLndCounters::Id::kHandedOver), 1U);
      }
    }
  }
}

}  // namespace
}  // namespace plnet::cassini::kfilnd_contexts_test

// SPDX-License-Identifier: BSD-3-Clause
// Whole nodes: LNet with its coordinator on the kfi LND on simulated endpoints, each with one
// receive context or with one for each of its shards.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/endpoint_driver.hpp"
#include "lib/kfilnd/context_mail.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "lib/kfilnd/node_gate.hpp"
#include "lib/kfilnd/node_homes.hpp"
#include "lib/lnet/node/node.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"
#include "tests/unit/lib/kfilnd/messages.hpp"

namespace plnet::kfilnd {

using namespace lnet;

inline constexpr std::uint64_t kControlBytes = 1U << 20U;
inline constexpr std::uint64_t kCoreReceiveBytes = 1U << 18U;
inline constexpr std::uint64_t kProgramBytes = 8U << 20U;
inline constexpr PortalId kPortal = 50;

struct CoreShape {
  unsigned contexts = 1;
  std::size_t peers = 16;
  std::int64_t kfi_timeout = Tunables{}.kfi_timeout;
};

class CoreOnKfi final : public Pollable, public EventHandler, LndMaker {
 public:
  CoreOnKfi(drivers::SimEndpointFabric& fabric, drivers::SimShard& shard, unsigned index,
            Instant start, const CoreShape& shape)
      : nid(nid_of(index)),
        memory_(kControlBytes + kCoreReceiveBytes + kProgramBytes),
        bells_(shape.contexts, &shard),
        mail_(shape.contexts),
        kfi_timeout_(shape.kfi_timeout),
        contexts_(shape.contexts) {
    PLNET_CHECK(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value(), "room");
    for (unsigned i = 0; i < shape.contexts; ++i) {
      contexts_[i].driver = std::make_unique<drivers::SimEndpointDriver>(
          fabric,
          drivers::SimEndpointConfig{
              .host = shard.host(),
              .process = {nic_address_of(nid), service_of(nid)},
              .limits = {.receive_contexts = static_cast<std::uint8_t>(shape.contexts),
                         .receive_context = static_cast<std::uint8_t>(i),
                         .operations_max = 1024}},
          arenas_, contexts_[i].relay, shard);
    }
    NodeSetup setup{.cpt_of_shard = std::vector<std::uint16_t>(shape.contexts, 0),
                    .interface_cookie = index + 1,
                    .arenas = &arenas_,
                    .control_memory = {{0, 0}, std::span(memory_).first(kControlBytes)},
                    .doorbells = bells_,
                    .start = start};
    setup.shard_limits = {.peer_ports = shape.peers,
                          .extra_links = shape.peers,
                          .messages = 256,
                          .receives = 256,
                          .descriptors = 256,
                          .match_entries = 256};
    setup.coordinator.peers.peers = setup.coordinator.peers.peer_nis = shape.peers;
    setup.coordinator.peers.kept_for_own = 0;
    node_ = std::make_unique<Node>(setup);
    PLNET_CHECK(node_->add_ni({.nid = nid}, *this).has_value(), "the first of its kind");
    node_->set_running();
    shard.add(*this);
  }

  unsigned poll(Instant now) override {
    unsigned work = 0;
    for (unsigned i = 0; i < contexts_.size(); ++i) {
      node_->shard(i).begin_turn(now);
      work += contexts_[i].driver->poll(now);
      work += node_->shard(i).poll(now);
      node_->quiescent(i);
    }
    return work + node_->coordinate(now);
  }
  [[nodiscard]] std::string_view name() const override { return "core on kfi"; }
  [[nodiscard]] Instant next_deadline() const override {
    Instant next = node_->next_coordination(node_->shard(0).core().now);
    for (unsigned i = 0; i < contexts_.size(); ++i)
      next = std::min(next, node_->shard(i).next_deadline());
    return next;
  }

  Fragment& room(std::size_t bytes) {
    PLNET_CHECK(used_ + bytes <= kProgramBytes, "the program's memory is large enough");
    fragments_.push_back(
        {{0, kControlBytes + kCoreReceiveBytes + used_}, static_cast<std::uint32_t>(bytes)});
    used_ += bytes;
    return fragments_.back();
  }
  std::span<std::byte> bytes(const Fragment& fragment) { return arenas_.bytes(fragment); }
  void fill(const Fragment& fragment, std::uint8_t seed) {
    for (std::byte& byte : bytes(fragment))
      byte = static_cast<std::byte>(seed++);
  }
  // Memory for one PUT or GET.
  Fragment& attach(std::uint64_t bits, std::uint32_t length, std::uint32_t options) {
    Fragment& place = room(length);
    const auto attached = node_->shard(0).attach({.portal = kPortal, .match_bits = bits},
                                                 {.fragments = {&place, 1},
                                                  .length = length,
                                                  .threshold = 1,
                                                  .options = options | kMdManageRemote,
                                                  .handler = this});
    PLNET_CHECK(attached.has_value(), "a place for it");
    return place;
  }
  Fragment& put(const Nid& to, std::uint64_t bits, std::uint32_t length, bool ack) {
    Fragment& source = room(length);
    fill(source, static_cast<std::uint8_t>(bits));
    const auto md = node_->shard(0).bind(
        {.fragments = {&source, 1}, .length = length, .threshold = ack ? 2 : 1, .handler = this});
    PLNET_CHECK(
        md && node_->shard(0).put(
                  *md, {.target = {.nid = to}, .portal = kPortal, .match_bits = bits, .ack = ack}),
        "a PUT");
    return source;
  }
  Fragment& get(const Nid& to, std::uint64_t bits, std::uint32_t length) {
    Fragment& sink = room(length);
    const auto md = node_->shard(0).bind(
        {.fragments = {&sink, 1}, .length = length, .threshold = 2, .handler = this});
    PLNET_CHECK(md && node_->shard(0).get(
                          *md, {.target = {.nid = to}, .portal = kPortal, .match_bits = bits}),
                "a GET");
    return sink;
  }
  void on_event(const Event& event) override {
    ++seen[static_cast<std::size_t>(event.kind)];
    if (!event.status) ++failures;
  }
  [[nodiscard]] unsigned events(EventKind kind) const {
    return seen[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const KfiLnd& lnd(unsigned context = 0) const { return *contexts_[context].lnd; }
  [[nodiscard]] unsigned contexts() const { return static_cast<unsigned>(contexts_.size()); }
  [[nodiscard]] std::uint64_t count(KfiLndCounters::Id id) const {
    std::uint64_t sum = 0;
    for (const Context& context : contexts_)
      sum += context.lnd->count(id);
    return sum;
  }
  [[nodiscard]] bool idle() const {
    return std::ranges::all_of(contexts_, [](const Context& each) {
      return each.lnd->idle() && (each.homes == nullptr || each.homes->idle());
    });
  }
  [[nodiscard]] Node& node() { return *node_; }

  const Nid nid;
  std::array<unsigned, 8> seen{};
  unsigned failures = 0;

 private:
  struct Context {
    EndpointRelay relay;
    std::unique_ptr<drivers::SimEndpointDriver> driver;
    std::unique_ptr<NodeHomes> homes;  // null: there is only one context
    std::unique_ptr<NodeGate> gate;
    KfiLnd* lnd = nullptr;  // owned by the node
  };

  std::unique_ptr<Lnd> make(NiPort& port, ShardId shard) override {
    Context& context = contexts_[shard];
    const std::uint64_t each = kCoreReceiveBytes / contexts_.size() / 4096 * 4096;
    KfiLndConfig config{
        .nid = nid,
        .arenas = &arenas_,
        .receive_memory = {{0, kControlBytes + shard * each}, static_cast<std::uint32_t>(each)}};
    config.tunables.kfi_timeout = kfi_timeout_;
    context.gate = std::make_unique<NodeGate>(*node_, shard, port.ni());
    config.gate = context.gate.get();
    if (contexts_.size() > 1) {
      context.homes = std::make_unique<NodeHomes>(*node_, shard, port.ni());
      config.mail = &mail_.end(context_of(port.ni().shards, shard));
      config.homes = context.homes.get();
    }
    auto lnd = std::make_unique<KfiLnd>(config, port, *context.driver);
    context.relay.attach(*lnd);
    context.lnd = lnd.get();
    return lnd;
  }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::vector<Doorbell*> bells_;
  ContextMail mail_;
  const std::int64_t kfi_timeout_;
  std::vector<Context> contexts_;
  std::unique_ptr<Node> node_;
  std::list<Fragment> fragments_;
  std::uint64_t used_ = 0;
};

class CoreSite : public testing::Test {
 protected:
  void build(std::uint64_t seed, drivers::SimShape shape,
             const std::vector<CoreShape>& shapes = {{}, {}}) {
    shape.endpoint.retries_max = 10000;
    nodes_.clear();
    fabric_.reset();
    cluster_ =
        std::make_unique<drivers::SimCluster>(seed, shape, static_cast<unsigned>(shapes.size()));
    fabric_ = std::make_unique<drivers::SimEndpointFabric>(cluster_->network, shape.endpoint, seed);
    for (unsigned i = 0; i < shapes.size(); ++i) {
      nodes_.push_back(std::make_unique<CoreOnKfi>(*fabric_, *cluster_->shards[i], i,
                                                   cluster_->loop.now(), shapes[i]));
    }
  }
  bool run(const std::function<bool()>& done) {
    const Instant end = cluster_->loop.now() + std::chrono::seconds(60);
    while (cluster_->loop.now() < end && !done()) {
      for (auto& shard : cluster_->shards)
        shard->ring();
      cluster_->loop.run_for(std::chrono::microseconds(200));
    }
    return done();
  }
  [[nodiscard]] CoreOnKfi& node(unsigned index) { return *nodes_[index]; }
  [[nodiscard]] CoreOnKfi& a() { return *nodes_[0]; }
  [[nodiscard]] CoreOnKfi& b() { return *nodes_[1]; }

 private:
  std::unique_ptr<drivers::SimCluster> cluster_;
  std::unique_ptr<drivers::SimEndpointFabric> fabric_;
  std::vector<std::unique_ptr<CoreOnKfi>> nodes_;
};

}  // namespace plnet::kfilnd

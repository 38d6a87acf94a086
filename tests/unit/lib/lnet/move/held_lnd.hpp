// SPDX-License-Identifier: BSD-3-Clause
// A node on an LND that the test controls: it holds every message until the test ends it, and
// offers messages that the test makes up.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/lib/lnet/move/site.hpp"

namespace plnet::lnet {

class HeldLnd final : public Lnd {
 public:
  explicit HeldLnd(LndUpcalls& core) : core_(core) {}

  [[nodiscard]] const LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<Transmit* const> burst) override {
    const std::size_t count = shutting_down_ ? 0 : std::min(burst.size(), room - held.size());
    held.insert(held.end(), burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  void resume(RxHandle rx, const RxDecision& decision) override {
    EXPECT_TRUE(decision.link == nullptr || PeerPorts::of(*decision.link).port != nullptr)
        << "a link that has gone";
    resumed.emplace_back(rx, decision);
  }
  unsigned flush(Instant /*now*/) override {
    for (const PeerLink* const link : releasing_)
      end_all(link);
    if (shutting_down_) end_all(nullptr);
    const auto ended = std::exchange(ended_, {});
    if (!ended.empty()) core_.on_sent(ended);
    for (PeerLink* const link : std::exchange(releasing_, {}))
      core_.on_peer_released(*link);
    return static_cast<unsigned>(ended.size());
  }
  void cancel(Transmit& /*transmit*/) override {}
  void release_peer(PeerLink& link) override {
    const bool known = std::ranges::any_of(
        held, [&](const Transmit* transmit) { return transmit->next_hop == &link; });
    if (!known) return core_.on_peer_released(link);
    releasing_.push_back(&link);
  }
  void shut_down() override { shutting_down_ = true; }
  [[nodiscard]] bool idle() const override { return held.empty() && ended_.empty(); }
  [[nodiscard]] Instant next_deadline() const override { return Instant::max(); }
  [[nodiscard]] CounterView counters() const override { return {}; }
  [[nodiscard]] std::size_t receives_free() const override { return free_receives; }

  void take_kept(bool does) { traits_.takes_kept = does; }
  // The message ends in the next flush.
  void end(std::size_t index, Completion how = {}) {
    how.transmit = held.at(index);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(index));
    ended_.push_back(how);
  }
  [[nodiscard]] std::uint64_t bits(std::size_t index) const {
    return held.at(index)->header.area<PutArea>().match_bits;
  }

  std::size_t room = 1000;
  std::size_t free_receives = SIZE_MAX;
  std::vector<Transmit*> held;
  std::vector<std::pair<RxHandle, RxDecision>> resumed;

 private:
  void end_all(const PeerLink* link) {
    for (std::size_t i = held.size(); i-- > 0;) {
      if (link != nullptr && held[i]->next_hop != link) continue;
      end(i, {.status = std::unexpected(Errc::kShutdown), .health = Health::kLocalAborted});
    }
  }

  LndTraits traits_{.name = "held", .net_type = NetType::kTcp, .bulk_bytes_min = 1000};
  LndUpcalls& core_;
  std::vector<Completion> ended_;
  std::vector<PeerLink*> releasing_;
  bool shutting_down_ = false;
};

class HeldNode {
 public:
  explicit HeldNode(mocks::CoreNodeSetup setup)
      : memory_(1U << 16), node(with_basics(setup), [this](NiPort& port, ShardId shard) {
          auto made = std::make_unique<HeldLnd>(port);
          auto& of_ni = port.ni().number == 1 ? lnds : others;
          of_ni.resize(std::max<std::size_t>(of_ni.size(), shard + 1U));
          of_ni[shard] = made.get();
          return made;
        }) {}

  [[nodiscard]] static Nid nid(std::uint32_t address) { return Nid::of(NetType::kTcp, 0, address); }
  [[nodiscard]] ShardCore& core(unsigned shard = 0) { return node.shard(shard).core(); }
  [[nodiscard]] NiPort& port(unsigned shard = 0) { return *core(shard).ports[1]; }
  [[nodiscard]] PeerPort& peer_port(std::uint32_t address, unsigned shard = 0) {
    return *core(shard).peers.find(*node.directory().find(nid(address)));
  }

  MdHandle bind(EventHandler& handler, std::uint32_t length = 100, unsigned shard = 0,
                std::int32_t threshold = kThresholdInfinite) {
    return node.shard(shard)
        .bind({.fragments = fragments_,
               .length = length,
               .threshold = threshold,
               .handler = &handler})
        .value();
  }
  Result<void> put(MdHandle md, std::uint32_t to, std::uint64_t bits, bool ack = false) {
    return node.shard(md.shard).put(
        md, {.target = {nid(to)}, .portal = 5, .match_bits = bits, .ack = ack});
  }
  // A PUT arrives.
  RxDecision offer_put(std::uint32_t from, RxHandle rx, std::uint32_t length = 10, bool ack = false,
                       PeerLink* link = nullptr) {
    MessageHeader header{.destination = nid(1), .source = nid(from), .type = MessageType::kPut};
    header.payload_length = length;
    PutArea area{.match_bits = 1, .portal = 5};
    if (ack) area.ack_handle = {7, 7};
    header.set_area(area);
    return port().on_header({.header = header, .from = nid(from), .link = link, .rx = rx});
  }
  Attached attach(EventHandler& handler, unsigned shard = 0) {
    return node.shard(shard)
        .attach({.portal = 5, .match_bits = 1}, {.fragments = fragments_,
                                                 .length = 1000,
                                                 .options = kMdPut | kMdManageRemote,
                                                 .handler = &handler})
        .value();
  }
  void settle() { node.settle(now += std::chrono::microseconds(1), 300); }
  void pass(Duration time) {
    for (const Instant until = now + time; now < until;) {
      now += std::chrono::milliseconds(250);
      node.turn(now);
    }
    settle();
  }
  [[nodiscard]] std::uint64_t cause(Cause id, unsigned shard = 0) {
    return core(shard).causes.get(id);
  }
  [[nodiscard]] std::uint64_t statistic(Statistic id, unsigned shard = 0) {
    return core(shard).statistics.get(id);
  }
  void expect_conserved() { lnet::expect_conserved(node, 0); }

 private:
  mocks::CoreNodeSetup with_basics(mocks::CoreNodeSetup& setup) {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
    if (setup.nids.empty()) setup.nids = {nid(1)};
    setup.arenas = &arenas_;
    return setup;
  }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::array<Fragment, 1> fragments_{Fragment{{0, 0}, 1U << 16}};

 public:
  Instant now{std::chrono::seconds(1)};
  std::vector<HeldLnd*> lnds;    // of the first NI, by shard
  std::vector<HeldLnd*> others;  // of the second
  mocks::CoreNode node;
};

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// Under random events each operation ends exactly once, nothing arrives twice or in the wrong
// place, and in the end all resources are returned. A seed draws the site, the operations, the
// polling order, broken connections and deleted peers.
#include "lib/base/random.hpp"

#include <algorithm>
#include <tuple>

#include "tests/mocks/seeds.hpp"
#include "tests/unit/lib/lnet/move/site.hpp"

namespace plnet::lnet::random_test {
namespace {

constexpr PortalId kPortals = 6;  // every other one is lazy at first
constexpr std::uint32_t kLengthMax = 3000;
enum class Faults : std::uint8_t {
  kNone,
  kGone,     // rules existed before and were removed
  kNoMatch,  // rules that match nothing here
  kRules,    // rules are added and removed
};

// Everything visible to a user, in order.
using Trace = std::vector<std::tuple<unsigned, EventKind, bool, Errc, std::uint32_t, bool>>;

constexpr std::size_t kCauses = LnetCauses::kInfo.size();

struct Operation final : EventHandler {
  void on_event(const Event& event) override {
    EXPECT_FALSE(over) << "an event after the last one";
    EXPECT_EQ(event.user, this);
    trace->emplace_back(id, event.kind, event.status.has_value(),
                        event.status ? Errc{} : event.status.error(), event.accepted_length,
                        event.unlinked);
    over = event.unlinked;
    ++seen[static_cast<std::size_t>(event.kind)];
    const bool answer = event.kind == EventKind::kAck || event.kind == EventKind::kReply;
    answered = answered || (answer && event.status.has_value());
    if (event.kind == EventKind::kReply) {
      EXPECT_LE(event.accepted_length, length);
    }
  }

  Trace* trace = nullptr;
  unsigned id = 0;
  unsigned from = 0, to = 0, caller = 0;
  bool is_get = false, ack = false, begun = false;
  PortalId portal = 0;
  std::uint32_t length = 0;
  const Buffer* ours = nullptr;
  MdHandle md;
  bool over = false, answered = false;
  std::array<unsigned, 8> seen{};
};

struct Target final : EventHandler {
  void on_event(const Event& event) override {
    EXPECT_FALSE(over) << "an event after the last one";
    over = event.unlinked;
    if (event.kind == EventKind::kUnlink) return;
    ++hits;
    EXPECT_EQ(event.match_bits, operation->id);
    EXPECT_EQ(event.kind, operation->is_get ? EventKind::kGet : EventKind::kPut);
    if (!operation->is_get) {
      EXPECT_EQ(event.header_data, operation->id * 3U);
    }
    well = event.status.has_value();
    if (well) {
      EXPECT_EQ(event.accepted_length, operation->length);
    }
  }

  const Operation* operation = nullptr;
  const Buffer* buffer = nullptr;
  unsigned shard = 0;
  MdHandle md;
  bool over = false, well = false;
  unsigned hits = 0;
};

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed, Faults faults = Faults::kNone)
      : random_(seed), fault_random_(seed), faults_(faults), setup_(draw_setup()), site_(setup_) {
    prepare_faults();
    for (unsigned node = 0; node < setup_.nodes; ++node) {
      for (PortalId portal = 0; portal < kPortals; portal += 2)
        site_.node(node).set_lazy(portal, true);
    }
  }

  void run() {
    for (unsigned step = 0; step < 3000; ++step) {
      if (step < 2000) disturb();
      poll_somebody();
    }
    for (unsigned node = 0; node < setup_.nodes; ++node) {
      for (PortalId portal = 0; portal < kPortals; portal += 2)
        site_.node(node).set_lazy(portal, false);
    }
    if (faults_ == Faults::kRules) remove_rules();
    for (const auto& operation : operations_) {
      if (!operation->begun) (void)unlink(*operation);
    }
    for (unsigned i = 0; i < 110; ++i)  // over every deadline
      site_.pass_once(std::chrono::seconds(3));
    site_.settle();
    for (const auto& target : targets_)
      (void)site_.shard(target->operation->to, target->shard).unlink(target->md);
    site_.settle();
    verify();
    site_.expect_conserved();
  }

 private:
  template <class T>
  T below(T limit) {
    return static_cast<T>(random_.below(static_cast<std::uint64_t>(limit)));
  }

  SiteSetup draw_setup() {
    SiteSetup setup{.wire = below(2) == 0 ? Wire::kStream : Wire::kRdma,
                    .nodes = 2U + below(3U),
                    .shards = 1U + below(4U)};
    setup.tunables.peer_credits = 1 + below(4);
    setup.tunables.credits = 1 + below(6);
    setup.limits = {.peer_ports = 16,
                    .extra_links = 4,
                    .messages = 8U + below(16U),
                    .receives = 4U + below(16U),
                    .descriptors = 256,
                    .match_entries = 256};
    setup.window = 1 + below(4U);
    setup.in_flight_max = 1 + below(8U);
    setup.memory_bytes = 2U << 20;
    if (below(3) == 0) {  // some shards have no LND
      setup.served = {ShardSet(1 + below((1U << setup.shards) - 1))};
    }
    return setup;
  }

  void poll_somebody() {
    const unsigned node = below(setup_.nodes);
    site_.turn_shard(node, below(setup_.shards));
    if (below(4) == 0) site_.step_directory(node);
  }

  void prepare_faults() {
    if (faults_ != Faults::kGone && faults_ != Faults::kNoMatch) return;
    const Nid nobody = Nid::of(NetType::kTcp, 7, 7);
    for (unsigned i = 0; i < setup_.nodes; ++i) {
      mocks::CoreNode& node = site_.node(i);
      for (const FaultSpec& spec :
           {FaultSpec{.source = nobody, .rate = 1},
            FaultSpec{.source = nobody, .rate = 1, .health_errors = kFaultHealthRandom},
            FaultSpec{.kind = FaultKind::kDelay, .source = nobody, .rate = 1, .latency_s = 1}})
        EXPECT_TRUE(node.faults().add(spec, site_.now()).has_value());
      EXPECT_TRUE(node.faults().fail_nid(nobody, FailNid::kForever).has_value());
      node.publish_faults();
    }
    if (faults_ == Faults::kGone) remove_rules();
  }

  void remove_rules() {
    for (unsigned i = 0; i < setup_.nodes; ++i) {
      mocks::CoreNode& node = site_.node(i);
      (void)node.faults().remove(FaultKind::kDrop, Nid::any(), Nid::any());
      (void)node.faults().remove(FaultKind::kDelay, Nid::any(), Nid::any());
      EXPECT_TRUE(node.faults().fail_nid(Nid::any(), 0).has_value());
      node.publish_faults();
      EXPECT_EQ(node.faults().view(), nullptr);
    }
  }

  void disturb_rules() {
    const auto draw = [this](std::uint32_t limit) {
      return static_cast<std::uint32_t>(fault_random_.below(limit));
    };
    if (draw(100) != 0) return;
    mocks::CoreNode& node = site_.node(draw(setup_.nodes));
    const std::uint32_t what = draw(6);
    FaultSpec spec{.types = draw(16), .rate = 1 + draw(4)};
    if (draw(2) == 0) spec.source = site_.nid(draw(setup_.nodes));
    if (what == 1 || what == 2) spec.kind = FaultKind::kDelay;
    if (what == 1 || what == 2) spec.latency_s = 1 + draw(3);
    if (what == 3) spec.health_errors = kFaultHealthRandom;
    if (what < 4) (void)node.faults().add(spec, site_.now());
    if (what == 4) {
      (void)node.faults().remove(draw(2) == 0 ? FaultKind::kDrop : FaultKind::kDelay, Nid::any(),
                                 Nid::any());
    }
    if (what == 5) (void)node.faults().fail_nid(site_.nid(draw(setup_.nodes)), draw(4));
    node.publish_faults();
  }

  void disturb() {
    if (faults_ == Faults::kRules) disturb_rules();
    const unsigned what = below(100U);
    if (what < 12) begin_operation();
    if (what >= 12 && what < 16) attach_late();
    if (what == 16) site_.node(below(setup_.nodes)).delete_peer(site_.nid(below(setup_.nodes)));
    if (what == 17) break_connection();
    if (what == 18 && !operations_.empty()) {
      (void)unlink(*operations_[below(operations_.size())]);
    }
    if (what == 19) site_.advance(std::chrono::milliseconds(below(2000)));
  }

  void begin_operation() {
    auto& operation = *operations_.emplace_back(std::make_unique<Operation>());
    operation.id = static_cast<unsigned>(operations_.size());
    operation.trace = &trace_;
    operation.from = below(setup_.nodes);
    operation.to = (operation.from + 1 + below(setup_.nodes - 1)) % setup_.nodes;
    operation.caller = below(setup_.shards);
    operation.is_get = below(2) == 0;
    operation.ack = below(3) != 0;
    operation.portal = below(kPortals);
    operation.length = below(4) == 0 ? 0 : below(kLengthMax);
    operation.ours = &site_.buffer(operation.length);
    if (below(4) != 0) attach(operation);
    const std::int32_t threshold = operation.is_get || operation.ack ? 2 : 1;
    operation.md =
        site_.bind(operation.from, operation.caller, *operation.ours, operation, 0, threshold);
    Shard& shard = site_.shard(operation.from, operation.caller);
    const Nid to = site_.nid(operation.to);
    if (operation.is_get) {
      operation.begun =
          shard
              .get(operation.md,
                   {.target = {to}, .portal = operation.portal, .match_bits = operation.id})
              .has_value();
      return;
    }
    site_.fill(*operation.ours, operation.id);
    operation.begun = shard
                          .put(operation.md, {.target = {to},
                                              .portal = operation.portal,
                                              .match_bits = operation.id,
                                              .header_data = operation.id * 3U,
                                              .ack = operation.ack})
                          .has_value();
  }

  void attach(Operation& operation) {
    auto& target = *targets_.emplace_back(std::make_unique<Target>());
    target.operation = &operation;
    target.shard = below(setup_.shards);
    target.buffer = &site_.buffer(operation.length);
    if (operation.is_get) site_.fill(*target.buffer, operation.id);
    target.md = site_
                    .attach(operation.to, target.shard,
                            {.portal = operation.portal, .match_bits = operation.id},
                            *target.buffer, target, operation.is_get ? kMdGet : kMdPut, 1)
                    .md;
  }

  void attach_late() {
    if (operations_.empty()) return;
    Operation& operation = *operations_[below(operations_.size())];
    const bool there = std::ranges::any_of(
        targets_, [&](const auto& target) { return target->operation == &operation; });
    if (!there) attach(operation);
  }

  void break_connection() {
    if (setup_.wire != Wire::kStream) return;
    const unsigned node = below(setup_.nodes);
    const unsigned shard = below(setup_.shards);
    if (site_.core(node, shard).ports[1] == nullptr) return;
    auto& lnd = static_cast<mocks::MockStreamLnd&>(site_.node(node).lnd(1, shard));
    lnd.break_connection(site_.nid(below(setup_.nodes)));
  }

  Result<void> unlink(const Operation& operation) {
    return site_.shard(operation.from, operation.caller).unlink(operation.md);
  }

  void verify() {
    const auto times = [](const Operation& operation, EventKind kind) {
      return operation.seen[static_cast<std::size_t>(kind)];
    };
    for (const auto& operation : operations_) {
      const testing::ScopedTrace where(__FILE__, __LINE__,
                                       testing::Message() << "operation " << operation->id);
      EXPECT_TRUE(operation->over);
      EXPECT_EQ(times(*operation, EventKind::kSend), operation->begun ? 1U : 0U);
      EXPECT_LE(times(*operation, EventKind::kAck) + times(*operation, EventKind::kReply), 1U);
      EXPECT_EQ(times(*operation, operation->is_get ? EventKind::kAck : EventKind::kReply), 0U);
      if (!operation->ack) {
        EXPECT_EQ(times(*operation, EventKind::kAck), 0U);
      }
      if (operation->is_get && operation->answered) {
        EXPECT_TRUE(site_.holds(*operation->ours, 0, operation->length, operation->id));
      }
      answered_ += operation->answered ? 1 : 0;
    }
    for (unsigned node = 0; node < setup_.nodes; ++node) {
      for (std::size_t i = 0; i < kCauses; ++i)
        causes_[i] += site_.sum(node, static_cast<Cause>(i));
    }
    for (const auto& target : targets_) {
      EXPECT_TRUE(target->over);
      EXPECT_LE(target->hits, 1U);
      const Operation& operation = *target->operation;
      if (!operation.is_get && target->well) {
        EXPECT_TRUE(site_.holds(*target->buffer, 0, operation.length, operation.id));
      }
      if (!operation.is_get && operation.answered) {
        EXPECT_TRUE(target->well);
      }
      if (!target->well && target->hits == 0 && !operation.is_get) {
        EXPECT_TRUE(site_.holds(*target->buffer, 0, 0, 0)) << "unknown bytes";
      }
    }
  }

  Random random_;
  Random fault_random_;  // separate, so that the rest does not depend on faults
  const Faults faults_;
  const SiteSetup setup_;
  std::vector<std::unique_ptr<Operation>> operations_;  // outlive the events of the site
  std::vector<std::unique_ptr<Target>> targets_;
  Site site_;

 public:
  unsigned answered_ = 0;
  std::array<std::uint64_t, kCauses> causes_{};
  Trace trace_;
};

TEST(RandomTraffic, EachOperationEndsOnceAndNothingIsLost) {
  unsigned answered = 0;
  std::array<std::uint64_t, kCauses> causes{};
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(300); ++seed) {
    const testing::ScopedTrace where(__FILE__, __LINE__, testing::Message() << "seed " << seed);
    RandomRun run(seed);
    run.run();
    answered += run.answered_;
    for (std::size_t i = 0; i < kCauses; ++i)
      causes[i] += run.causes_[i];
    if (testing::Test::HasFailure()) return;
  }
  for (const Cause cause :
       {Cause::kDroppedConnectionLost, Cause::kTxReleased, Cause::kAnswersWaited,
        Cause::kDroppedNoReceive, Cause::kCrossedMatch, Cause::kCrossedHome, Cause::kCrossedLane,
        Cause::kDroppedLazyCleared, Cause::kTxMdAborted, Cause::kDroppedPutNoMatch,
        Cause::kDroppedGetNoMatch, Cause::kDroppedAckNoMd, Cause::kDroppedReplyNoMd,
        Cause::kReceiveFailed, Cause::kTxDeadline}) {
    EXPECT_GT(causes[static_cast<std::size_t>(cause)], 20U)
        << LnetCauses::kInfo[static_cast<std::size_t>(cause)].name << " hardly ever happens";
  }
  EXPECT_GT(answered, 3000U) << "the test does not test much";
}

TEST(RandomTraffic, WithFaultRulesThatComeAndGoNothingIsLostEither) {
  std::array<std::uint64_t, kCauses> causes{};
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(200); ++seed) {
    const testing::ScopedTrace where(__FILE__, __LINE__, testing::Message() << "seed " << seed);
    RandomRun run(seed, Faults::kRules);
    run.run();
    for (std::size_t i = 0; i < kCauses; ++i)
      causes[i] += run.causes_[i];
    if (testing::Test::HasFailure()) return;
  }
  for (const Cause cause : {Cause::kDroppedFaultRule, Cause::kDroppedFailNid, Cause::kTxFailNid,
                            Cause::kTxFaultRule, Cause::kDelayedByRule}) {
    EXPECT_GT(causes[static_cast<std::size_t>(cause)], 20U)
        << LnetCauses::kInfo[static_cast<std::size_t>(cause)].name << " hardly ever happens";
  }
}

TEST(RandomTraffic, FaultRulesThatAreGoneOrForOthersChangeNothing) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(60); ++seed) {
    const testing::ScopedTrace where(__FILE__, __LINE__, testing::Message() << "seed " << seed);
    RandomRun without(seed);
    without.run();
    for (const Faults faults : {Faults::kGone, Faults::kNoMatch}) {
      RandomRun with(seed, faults);
      with.run();
      ASSERT_EQ(with.trace_, without.trace_) << static_cast<int>(faults);
      ASSERT_EQ(with.causes_, without.causes_) << static_cast<int>(faults);
    }
    ASSERT_FALSE(without.trace_.empty());
  }
}

}  // namespace
}  // namespace plnet::lnet::random_test

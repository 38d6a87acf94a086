// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/service/service.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "apps/lnet-selftest/service/console_verbs.hpp"
#include "node/host/lnet_shard.hpp"

namespace plnet::apps {
namespace {

constexpr runtime::HistogramInfo kLatencyInfo{
    "latency", "ns", "of RPCs that this node began as a client of tests, good ones"};
constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
// JOIN RPCs under way at the same time; the limit of a console.
constexpr std::size_t kJoinRpcs = 64;
// Ids of RPCs have 16 bits of seconds: the console's differ by half the range from the framework's.
constexpr std::uint64_t kConsoleSeconds = 0x8000;
constexpr Duration kLookPeriod = std::chrono::milliseconds(200);
// A cache line for each piece, and the alignment of the start.
constexpr std::size_t kSlackBytes = std::size_t{64} * 1024;

selftest::FrameworkSetup framework_of(const runtime::SelftestSettings& settings) {
  return {.session_timeout_s = settings.session_timeout_sec,
          .rpc_timeout = std::chrono::seconds(settings.rpc_timeout_sec),
          .units = settings.client_requests,
          .sink_bytes = settings.client_mib * kMebibyte,
          .takes_joins = false};
}

selftest::TestServerSetup server_of(const runtime::SelftestSettings& settings) {
  return {.sinks = settings.server_mib * kMebibyte / selftest::kBulkBytesMax};
}

// Buffers of every service, and each RPC's bulk data and reply.
std::size_t descriptors_of(const selftest::TestServerSetup& setup) {
  return 2 * setup.buffers + 2 * setup.rpcs;
}

// The same for the seven services of a framework; requests have a reply and bulk data, too.
std::size_t descriptors_of(const selftest::FrameworkSetup& setup) {
  return 7 * setup.buffers + 2 * setup.rpcs + 3 * setup.units;
}

std::size_t descriptors_of(const selftest::ConsoleSetup& setup) {
  return 3 * setup.rpcs + setup.join_buffers + 2 * kJoinRpcs;
}

// Detects the end of a node that exists for one session.
class Watch {
 public:
  void begin() {
    seen_ = true;
    since_.reset();
  }
  bool is_over(bool session, Instant now) {
    if (session) {
      begin();
      return false;
    }
    if (!since_) since_ = now;
    return now - *since_ >= (seen_ ? kLinger : kPatience);
  }

 private:
  // Time to answer the command that ended the session.
  static constexpr Duration kLinger = std::chrono::seconds(1);
  static constexpr Duration kPatience = std::chrono::minutes(1);

  bool seen_ = false;
  std::optional<Instant> since_;
};

}  // namespace

class SelftestService::OnShard final : public Pollable, public selftest::LnetCounterSource {
 public:
  OnShard(SelftestService& service, const node::ResidentPlace& place, std::uint64_t unix_seconds,
          selftest::WorkMemory memory, std::size_t shards)
      : service_(service),
        place_(place),
        memory_(memory),
        unix_seconds_(unix_seconds),
        shards_(static_cast<unsigned>(shards)) {}

  unsigned poll(Instant now) override {
    lnet::Node* const node = place_.lnet->node_owner();
    if (node != node_) meet(node, now);
    if (node_ == nullptr || !server_) return 0;
    unsigned work = server_->poll(now);
    if (!framework_ || !console_) return work;
    work += framework_->poll(now) + console_->poll(now);
    show(framework_->framework(), service_.session_);
    if (service_.host_.when_over && now >= look_at_) look(now);
    return work;
  }
  [[nodiscard]] std::string_view name() const override { return "selftest"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }
  [[nodiscard]] Instant next_deadline() const override {
    if (node_ == nullptr || !server_) return Instant::max();
    const Instant served = server_->next_deadline();
    if (!framework_ || !console_) return served;
    return std::min({served, framework_->next_deadline(), console_->next_deadline(),
                     service_.host_.when_over ? look_at_ : Instant::max()});
  }
  [[nodiscard]] selftest::Console* console_owner() { return console_ ? &*console_ : nullptr; }
  [[nodiscard]] selftest::SelftestNode* tests_owner() {
    return framework_ ? &*framework_ : nullptr;
  }
  void session_began_owner() { watch_.begin(); }
  // No shard polls any more.
  void move_out() {
    framework_.reset();  // it reads the console's counters
    console_.reset();
    server_.reset();
  }

 private:
  void look(Instant now) {
    look_at_ = now + kLookPeriod;
    const bool has_session = console_ && console_->session();
    if (watch_.is_over(has_session, now)) service_.host_.when_over();
  }

  // LNet has started, or stopped with everything under way. All objects are rebuilt: late messages
  // for an earlier life find no match.
  void meet(lnet::Node* node, Instant now) {
    move_out();
    node_ = node;
    if (node == nullptr) {
      if (place_.shard == 0) service_.session_.reset();
      return;
    }
    lnet::Shard& shard = node->shard(place_.shard);
    const selftest::SelftestShared& shared = *service_.shared_;
    selftest::WorkMemory memory = memory_;
    node->set_lazy(selftest::kTestPortal, true);
    node->set_lazy(selftest::kFrameworkPortal, true);
    server_.emplace(shard, shared.ended, shared.source, *service_.served_[place_.shard],
                    service_.server_, memory);
    server_->open();
    if (place_.shard == 0) make_framework(shard, memory, now);
  }

  void make_framework(lnet::Shard& shard, selftest::WorkMemory& memory, Instant now) {
    // Ids of RPCs differ from those of an earlier life even within the same second.
    if (!first_) first_ = now;
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - *first_).count();
    unix_seconds_ = std::max(unix_seconds_ + 1, unix_seconds_ + static_cast<std::uint64_t>(age));
    first_ = now;
    console_.emplace(
        shard,
        selftest::ConsoleSetup{
            .unix_seconds = unix_seconds_ + kConsoleSeconds, .shards = shards_, .start = now},
        memory);
    // The RPC counters of STAT cover the whole host, including requests of its own console.
    std::vector<const selftest::RpcStatistics*> served{&console_->statistics()};
    for (const auto& each : service_.served_)
      served.push_back(each.get());
    framework_.emplace(shard, *service_.shared_, service_.asked_, served, *this,
                       selftest::SelftestNodeSetup{.framework = service_.framework_,
                                                   .unix_seconds = unix_seconds_,
                                                   .shards = shards_,
                                                   .start = now},
                       memory);
    framework_->open();
    console_->open();
  }

  [[nodiscard]] selftest::LnetCounters read() const override {
    selftest::LnetCounters sum;
    for (unsigned shard = 0; shard < node_->shards(); ++shard)
      add_to(sum, node_->shard(shard).core().statistics);
    return sum;
  }

  SelftestService& service_;
  const node::ResidentPlace place_;
  const selftest::WorkMemory memory_;
  std::uint64_t unix_seconds_;
  const unsigned shards_;
  std::optional<Instant> first_;
  lnet::Node* node_ = nullptr;
  std::optional<selftest::TestServer> server_;
  // Used by shard 0.
  std::optional<selftest::SelftestNode> framework_;
  std::optional<selftest::Console> console_;
  Watch watch_;
  Instant look_at_{};
};

SelftestService::SelftestService(const runtime::SelftestSettings& settings, SelftestHost host)
    : server_(server_of(settings)), framework_(framework_of(settings)), host_(std::move(host)) {}
SelftestService::~SelftestService() = default;

node::ResidentNeeds SelftestService::needs(unsigned shard) const {
  node::ResidentNeeds needs{.bytes = selftest::TestServer::memory_bytes(server_) + kSlackBytes,
                            .descriptors = descriptors_of(server_)};
  if (shard != 0) return needs;
  needs.bytes += selftest::SelftestShared::memory_bytes() +
                 selftest::SelftestNode::memory_bytes({.framework = framework_}) +
                 selftest::Console::memory_bytes({});
  needs.descriptors += descriptors_of(framework_) + descriptors_of(selftest::ConsoleSetup{});
  return needs;
}

Outcome<void> SelftestService::move_in(std::span<const node::ResidentPlace> places,
                                       std::uint64_t cookie, runtime::Metrics& metrics) {
  metrics_ = &metrics;
  const auto labels = [](unsigned shard) {
    return std::vector<runtime::MetricLabel>{{"shard", std::to_string(shard)}};
  };
  const auto unix_seconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::nanoseconds(cookie)).count());
  for (const node::ResidentPlace& place : places) {
    PLNET_CHECK(place.memory.length >= needs(place.shard).bytes,
                "the memory has the requested size");
    selftest::WorkMemory memory{place.memory.at, place.arenas->bytes(place.memory)};
    if (place.shard == 0) shared_ = std::make_unique<selftest::SelftestShared>(memory);
    served_.push_back(std::make_unique<selftest::RpcStatistics>());
    shards_.push_back(
        std::make_unique<OnShard>(*this, place, unix_seconds, memory, places.size() + 1));
    metric_ids_.push_back(
        metrics.add("selftest_server", labels(place.shard), served_.back()->view()));
  }
  metric_ids_.push_back(metrics.add("selftest", {}, asked_.view()));
  metric_ids_.push_back(metrics.add("selftest_session", {}, session_.view()));
  metric_ids_.push_back(metrics.add("selftest_pace", {}, shared_->paced.view()));
  for (const auto& [test, histogram] : selftest::kTestLatencies) {
    metric_ids_.push_back(
        metrics.add("selftest", {{"test", test}}, kLatencyInfo, shared_->latency.*histogram));
  }
  return {};
}

void SelftestService::add_verbs(runtime::VerbTable& verbs, node::LnetAdmin& lnet) {
  desk_ = std::make_unique<ConsoleDesk>(*this, lnet);
  add_console_verbs(verbs, *desk_,
                    {.instance = host_.instance, .background = host_.when_over != nullptr});
  add_test_verbs(verbs, *this, lnet);
}

selftest::Console* SelftestService::console_owner() {
  return shards_.front()->console_owner();
}

selftest::SelftestNode* SelftestService::tests_owner() {
  return shards_.front()->tests_owner();
}

void SelftestService::session_began_owner() {
  shards_.front()->session_began_owner();
}

Pollable& SelftestService::on_shard(unsigned shard) {
  return *shards_[shard];
}

void SelftestService::move_out() {
  for (const auto id : std::exchange(metric_ids_, {}))
    metrics_->remove(id);
  for (const auto& shard : shards_)
    shard->move_out();
}

}  // namespace plnet::apps

// SPDX-License-Identifier: BSD-3-Clause
// What the simulator charges for a message through a queue pair, and for a host that is idle, in
// sites of several sizes.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/drivers/sim_site.hpp"
#include "bench/harness/harness.hpp"
#include "drivers/net/sim/verbs_driver.hpp"

namespace plnet::bench {
namespace {

using o2iblnd::QueuePairId;
using o2iblnd::ReceiveRequest;
using o2iblnd::WorkCompletion;
using o2iblnd::WorkRequest;

constexpr std::uint16_t kPort = 987;
constexpr unsigned kConnectsMax = 5;         // out, and as many in
constexpr unsigned kFramesOfTwo = 8;         // under way between two hosts
constexpr unsigned kReceives = 16;           // posted on each queue pair
constexpr std::uint64_t kArenaBytes = 4096;  // one buffer for all: nobody looks into it
constexpr o2iblnd::QueuePairSize kSize{.send_requests = 16, .receive_requests = kReceives};

// Answers each message by one on the same queue pair.
class Echo final : public o2iblnd::VerbsEvents {
 public:
  void attach(o2iblnd::VerbsDriver& driver) { driver_ = &driver; }
  void start(unsigned frames_each) {
    for (const QueuePairId pair : mine_) {
      for (unsigned i = 0; i < frames_each; ++i)
        send(pair);
    }
  }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  void post_receives(QueuePairId pair, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const ReceiveRequest receive{.buffer = {{0, 0}, kFrameBytes}};
      (void)driver_->post_receives(pair, {&receive, 1});
    }
  }

  void on_completions(std::span<const WorkCompletion> burst) override {
    for (const WorkCompletion& completion : burst) {
      if (completion.event != o2iblnd::WorkEvent::kReceived || !completion.status) continue;
      ++received_;
      post_receives(completion.queue_pair, 1);
      send(completion.queue_pair);
    }
  }
  void on_connect_request(QueuePairId request, const o2iblnd::Ipv4Endpoint& /*from*/,
                          const o2iblnd::Ipv4Endpoint& /*to*/,
                          std::span<const std::byte> /*data*/) override {
    (void)driver_->prepare(request, kSize);
    post_receives(request, kReceives);
    (void)driver_->accept(request, {.rnr_retry_count = 7}, {});
  }
  void on_established(QueuePairId pair, std::span<const std::byte> data) override {
    if (!data.empty()) mine_.push_back(pair);  // the accepting side gets none
  }
  void on_rejected(QueuePairId /*pair*/, o2iblnd::RejectKind /*kind*/,
                   std::span<const std::byte> /*data*/) override {}
  void on_disconnected(QueuePairId /*pair*/, Errc /*cause*/) override {}
  void on_drained(QueuePairId /*pair*/) override {}
  void on_device(bool /*usable*/, Errc /*cause*/) override {}

 private:
  void send(QueuePairId pair) {
    const WorkRequest request{.piece_count = 1, .pieces = {Fragment{{0, 0}, kFrameBytes}}};
    (void)driver_->post_chain(pair, {&request, 1});
  }

  o2iblnd::VerbsDriver* driver_ = nullptr;
  std::vector<QueuePairId> mine_;
  std::uint64_t received_ = 0;
};

class VerbsSite {
 public:
  explicit VerbsSite(unsigned hosts)
      : base_(hosts, {}), fabric_(base_.network, {}, 1), memory_(kArenaBytes) {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()});
    const unsigned connects = std::min(kConnectsMax, hosts - 1);
    for (unsigned i = 0; i < hosts; ++i) {
      Echo& echo = *echoes_.emplace_back(std::make_unique<Echo>());
      drivers_.push_back(
          std::make_unique<drivers::SimVerbsDriver>(fabric_, i, arenas_, echo, *base_.shards[i]));
      echo.attach(*drivers_.back());
      base_.shards[i]->add(*drivers_.back());
      (void)drivers_[i]->listen({kFirstAddress + i, kPort});
    }
    for (unsigned i = 0; i < hosts; ++i) {
      for (unsigned nth = 0; nth < connects; ++nth) {
        if (hosts == 2 && i == 1) continue;  // one connection between two
        const auto pair = drivers_[i]->connect({kFirstAddress + i, 0},
                                               {kFirstAddress + partner_of(i, nth, hosts), kPort},
                                               kSize, {.rnr_retry_count = 7}, {});
        if (pair) echoes_[i]->post_receives(*pair, kReceives);
      }
    }
    base_.loop.run_for(std::chrono::seconds(6));  // past the timers of the handshake
  }

  void start() {
    for (const auto& echo : echoes_)
      echo->start(echoes_.size() == 2 ? kFramesOfTwo : 1);
    run(echoes_.size() * 100);
  }
  // About as many messages.
  void run(std::uint64_t messages) {
    const std::uint64_t before = some_received();
    while (some_received() - before < messages) {
      for (unsigned i = 0; i < 256; ++i)
        (void)base_.loop.step();
    }
  }
  [[nodiscard]] std::uint64_t received() const {
    std::uint64_t all = 0;
    for (const auto& echo : echoes_)
      all += echo->received();
    return all;
  }
  [[nodiscard]] std::uint64_t events() const { return base_.loop.events_run(); }
  [[nodiscard]] std::size_t queue_pairs() const { return fabric_.queue_pairs(); }

 private:
  // By the count of a few hosts: asking all of them would be what is measured.
  [[nodiscard]] std::uint64_t some_received() const {
    const std::size_t step = std::max<std::size_t>(1, echoes_.size() / 8);
    std::uint64_t some = 0;
    std::uint64_t asked = 0;
    for (std::size_t i = 0; i < echoes_.size(); i += step, ++asked)
      some += echoes_[i]->received();
    return some * echoes_.size() / asked;
  }

  SiteBase base_;
  drivers::SimVerbsFabric fabric_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::vector<std::unique_ptr<Echo>> echoes_;
  std::vector<std::unique_ptr<drivers::SimVerbsDriver>> drivers_;
};

void verbs(benchmark::State& state, unsigned hosts) {
  static std::map<unsigned, std::unique_ptr<VerbsSite>> sites;
  if (!sites.contains(hosts)) {
    sites.clear();
    sites[hosts] = std::make_unique<VerbsSite>(hosts);
    sites[hosts]->start();
  }
  VerbsSite& site = *sites[hosts];
  constexpr std::int64_t kBatch = 100'000;
  const std::uint64_t received = site.received();
  const std::uint64_t events = site.events();
  while (state.KeepRunningBatch(kBatch))
    site.run(kBatch);
  const auto messages = static_cast<double>(site.received() - received);
  state.counters["queue_pairs"] = static_cast<double>(site.queue_pairs());
  state.counters["events_per_message"] = static_cast<double>(site.events() - events) / messages;
  state.counters["messages_done_per_asked"] = messages / static_cast<double>(state.iterations());
}

void memory(benchmark::State& state, unsigned hosts) {
  double idle = 0;
  double busy = 0;
  std::size_t pairs = 0;
  for (auto _ : state) {
    const std::size_t before = heap_in_use();
    VerbsSite site(hosts);
    idle = static_cast<double>(heap_in_use() - before) / hosts;
    site.start();
    busy = static_cast<double>(heap_in_use() - before) / hosts;
    pairs = site.queue_pairs();
  }
  state.counters["value"] = idle;
  state.counters["busy_bytes"] = busy;
  state.counters["queue_pairs_per_host"] = static_cast<double>(pairs) / hosts;
}

}  // namespace

void add_benchmarks(Suite& suite) {
  for (const unsigned hosts : {2U, 200U, 2000U, 10'000U}) {
    const std::string size = std::to_string(hosts);
    suite.push_back({.name = "sim.verbs." + size,
                     .what = "a 100-byte message sent and delivered among " + size +
                             " simulated hosts, " +
                             (hosts == 2 ? "8 on their queue pair"
                                         : "one on each connection, some ten of them a host"),
                     .round_seconds = 0.05,
                     .bar = hosts == 2000 ? std::optional<Bar>(Bar{.limit = 1000}) : std::nullopt,
                     .value = [hosts](benchmark::State& state) { verbs(state, hosts); },
                     .floor = [hosts](benchmark::State& state) { touch_site(state, hosts); }});
  }
  suite.push_back(
      {.name = "sim.verbs.memory",
       .what =
           "heap of an idle simulated host with shard, driver and ten queue pairs of 16 receives",
       .unit = "bytes",
       .bar = Bar{.limit = 60.0 * 1024},
       .value = [](benchmark::State& state) { memory(state, 2000); }});
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// The simulator's cost of a message through a queue pair, and of an idle host, in sites of several
// sizes.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/drivers/sim_echo_site.hpp"
#include "bench/harness/harness.hpp"
#include "drivers/net/sim/verbs_driver.hpp"

namespace plnet::bench {
namespace {

using o2iblnd::QueuePairId;
using o2iblnd::ReceiveRequest;
using o2iblnd::WorkCompletion;
using o2iblnd::WorkRequest;

constexpr std::uint16_t kPort = 987;
constexpr unsigned kReceives = 16;  // posted on each queue pair
constexpr std::uint64_t kArenaBytes = 4096;
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

// Shared by all hosts: its contents are never read.
struct SharedArena {
  SharedArena() { (void)table.add({.base = memory.data(), .size = memory.size()}); }
  std::vector<std::byte> memory = std::vector<std::byte>(kArenaBytes);
  ArenaTable table;
};

class VerbsSite : private SharedArena,
                  public EchoSite<drivers::SimVerbsFabric, drivers::SimVerbsDriver, Echo> {
 public:
  static constexpr unsigned kEndsOfLink = 1;

  explicit VerbsSite(unsigned hosts) : EchoSite(hosts) {
    populate(
        [this](unsigned host, Echo& echo) {
          auto driver = std::make_unique<drivers::SimVerbsDriver>(fabric_, host, table, echo,
                                                                  *base_.shards[host]);
          (void)driver->listen({kFirstAddress + host, kPort});
          return driver;
        },
        [this](unsigned from, unsigned to) {
          const auto pair =
              drivers_[from]->connect({kFirstAddress + from, 0}, {kFirstAddress + to, kPort}, kSize,
                                      {.rnr_retry_count = 7}, {});
          if (pair) echoes_[from]->post_receives(*pair, kReceives);
        });
  }
  [[nodiscard]] std::size_t links() const { return fabric_.queue_pairs(); }
};

}  // namespace

void add_benchmarks(Suite& suite) {
  add_site_benchmarks<VerbsSite>(suite,
                                 {.name = "sim.verbs",
                                  .message = "message",
                                  .link = "queue pair",
                                  .links = "queue_pairs",
                                  .memory = "shard, driver and ten queue pairs of 16 receives"});
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// Shards that pass tokens to each other measure the cost of a hop between two CPUs of this machine,
// without LNet. Placement experiments compare it with the cost of real messages.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/duplex.hpp"
#include "lib/base/histogram.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/poll/poller.hpp"

namespace plnet::runtime {

// Live; the same for every shard.
struct ExchangeLoad {
  bool enable = false;
  unsigned in_flight = 32;  // tokens per ordered pair of shards
  Duration work{};          // simulated work per token

  friend bool operator==(const ExchangeLoad&, const ExchangeLoad&) = default;
};

// One ordered pair of shards; may be read while tokens are under way.
struct HopSummary {
  unsigned from = 0;
  unsigned to = 0;
  std::uint64_t hops = 0;
  std::uint64_t p50_nsec = 0;  // from send until the receiver takes it, waiting included
  std::uint64_t p99_nsec = 0;
  std::uint64_t max_nsec = 0;
};

// The place of every token; exact only while no poller runs.
struct TokenCensus {
  std::size_t made = 0;
  std::size_t at_home = 0;  // in the pool of its home shard
  std::size_t waiting = 0;  // at a shard, waiting for room in a ring
  std::size_t in_rings = 0;
};

class Exchange;

// 512 KiB per shard: 32 in flight per pair on a node of 128 shards.
inline constexpr std::size_t kExchangeTokensPerShard = 4096;
inline constexpr std::size_t kExchangeBytesPerShard = kExchangeTokensPerShard * kNoSharing;

// The inputs of one shard. A plan may put memory and CPU on different nodes; tokens on another node
// than the receiving CPU are counted.
struct ExchangePlace {
  Doorbell* doorbell = nullptr;        // of the shard's poller
  PollerCounters* counters = nullptr;  // may be null
  int cpu_node = kAnyNumaNode;         // where the poller runs
  int memory_node = kAnyNumaNode;      // where `memory` lies
  // kExchangeBytesPerShard, page-aligned; empty: allocated from the heap, on any node.
  std::span<std::byte> memory{};
};

// The part of one shard. A token belongs to a home shard; each receiver passes it to the next shard
// in turn. A home shard that reduces its tokens keeps those that arrive.
class ExchangeShard final : public Pollable {
 public:
  static constexpr std::size_t kBurst = 32;  // tokens per source and turn, so that a turn stays
                                             // short

  ExchangeShard(Exchange& exchange, const Clock& clock, unsigned index, const ExchangePlace& place);
  ~ExchangeShard() override;

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "exchange"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }
  // No doorbell announces room in a ring, so the shard must not sleep while a token waits for it.
  [[nodiscard]] Instant next_deadline() const override {
    return waiting_first_ == nullptr ? Instant::max() : Instant::min();
  }

  // Called from a command.
  void apply_owner(const ExchangeLoad& settings) { settings_ = settings; }
  void reset_owner();

 private:
  friend class Exchange;
  struct Token;

  unsigned take(unsigned source);
  unsigned launch();
  unsigned forward();
  void arrive(Token& token);
  [[nodiscard]] unsigned next_target(const Token& token);
  void queue(Token& token);
  void work_for(Duration work) const;
  [[nodiscard]] unsigned wanted() const;

  Exchange& exchange_;
  const Clock& clock_;
  const unsigned index_;
  Doorbell& doorbell_;
  PollerCounters* const counters_;
  const int cpu_node_;
  const int memory_node_;
  ExchangeLoad settings_;

  std::unique_ptr<Token[]> heap_;   // if no memory was handed in
  Token* free_first_ = nullptr;     // at home
  Token* waiting_first_ = nullptr;  // waiting to be sent, oldest first
  Token* waiting_last_ = nullptr;
  unsigned round_ = 0;
  // By source. Made by the admin thread before the first enabling order, written by this shard,
  // read by the admin thread at any time.
  std::vector<Histogram> hops_;

  alignas(kNoSharing) std::atomic<unsigned> out_{0};  // own tokens that are not at home
};

class Exchange {
 public:
  static constexpr std::size_t kTokensPerShard = kExchangeTokensPerShard;
  static constexpr std::size_t kShardsMax =
      128;  // DPDK's limit of lcores; rings grow with its square

  using Place = ExchangePlace;

  // One place per shard, in the order of the shards. Allocates; start-up only. All arguments
  // outlive the exchange.
  Exchange(const Clock& clock, std::span<const Place> places);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] unsigned shard_count() const { return static_cast<unsigned>(shards_.size()); }
  // For the poller of that shard.
  [[nodiscard]] ExchangeShard& shard(unsigned index) { return *shards_[index]; }

  // Admin thread. kOutOfRange if these settings need more tokens than exist.
  [[nodiscard]] Outcome<void> validate(const ExchangeLoad& settings) const;
  // Admin thread: validates, and orders it on every shard or on none (kAgain: a poller hangs);
  // pollers[i] runs shard i. After a disable, tokens return by themselves: see drained(). The first
  // enabling allocates the histograms, 15 KiB per ordered pair.
  [[nodiscard]] Outcome<void> apply(const ExchangeLoad& settings, std::span<Poller* const> pollers);
  // Admin thread: the work of an order to this shard that resets its figures.
  [[nodiscard]] std::function<void()> reset_work(unsigned index);

  // Any thread, without stopping shards: all tokens are at home, so a disabled exchange has ended.
  [[nodiscard]] bool drained() const;
  // Admin thread, without stopping shards: one row per ordered pair.
  [[nodiscard]] std::vector<HopSummary> summary() const;
  // While no poller runs.
  [[nodiscard]] TokenCensus census() const;

 private:
  friend class ExchangeShard;
  using Channel = Duplex<ExchangeShard::Token>;
  using Lane = DuplexLane<ExchangeShard::Token>;

  [[nodiscard]] Lane& lane(unsigned from, unsigned to) {
    return *lanes_[std::size_t{from} * shard_count() + to];
  }

  std::vector<std::unique_ptr<ExchangeShard>> shards_;
  std::vector<std::unique_ptr<Channel>> channels_;  // one for each unordered pair of shards
  std::vector<Lane*> lanes_;  // by ordered pair; the diagonal only with a single shard
};

// Hops per second between two summaries of one exchange, row by row. A row that was reset counts
// from zero.
[[nodiscard]] std::vector<double> hop_rates(std::span<const HopSummary> before,
                                            std::span<const HopSummary> after, Duration elapsed);

}  // namespace plnet::runtime

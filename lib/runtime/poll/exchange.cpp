// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/exchange.hpp"

#include <algorithm>
#include <memory>

#include "lib/base/check.hpp"
#include "lib/runtime/poll/orders.hpp"

namespace plnet::runtime {
namespace {

// Tokens that find a ring full wait at the shard, so the capacity affects speed, not correctness:
// few shards get rings that hold every token, many get rings for twice a fair share.
std::size_t lane_capacity(std::size_t shards) {
  constexpr std::size_t kLeast = 64;
  if (shards == 1) return Exchange::kTokensPerShard;
  return std::clamp(2 * Exchange::kTokensPerShard / (shards - 1), kLeast,
                    Exchange::kTokensPerShard);
}

constexpr unsigned kNowhere = ~0U;

}  // namespace

struct alignas(kNoSharing) ExchangeShard::Token {
  Token* next = nullptr;
  unsigned home = 0;
  unsigned target = kNowhere;
  Instant sent_at{};
};

ExchangeShard::ExchangeShard(Exchange& exchange, const Clock& clock, unsigned index,
                             const ExchangePlace& place)
    : exchange_(exchange),
      clock_(clock),
      index_(index),
      doorbell_(*place.doorbell),
      counters_(place.counters),
      cpu_node_(place.cpu_node),
      memory_node_(place.memory_node),
      round_(index) {
  static_assert(sizeof(Token) * kExchangeTokensPerShard == kExchangeBytesPerShard);
  Token* tokens = nullptr;
  if (place.memory.empty()) {
    heap_ = std::make_unique<Token[]>(kExchangeTokensPerShard);
    tokens = heap_.get();
  } else {
    PLNET_CHECK(place.memory.size() >= kExchangeBytesPerShard, "room for every token");
    PLNET_CHECK(reinterpret_cast<std::uintptr_t>(place.memory.data()) % alignof(Token) == 0,
                "tokens share no line");
    tokens = reinterpret_cast<Token*>(place.memory.data());
    std::uninitialized_default_construct_n(tokens, kExchangeTokensPerShard);
  }
  for (std::size_t i = kExchangeTokensPerShard; i-- > 0;) {
    tokens[i].home = index;
    tokens[i].next = free_first_;
    free_first_ = &tokens[i];
  }
}

ExchangeShard::~ExchangeShard() = default;

unsigned ExchangeShard::wanted() const {
  const unsigned pairs = std::max(exchange_.shard_count() - 1, 1U);
  return settings_.enable ? settings_.in_flight * pairs : 0;
}

unsigned ExchangeShard::poll(Instant /*now*/) {
  const unsigned shards = exchange_.shard_count();
  unsigned work = 0;
  if (shards == 1) {
    work += take(index_);
  } else {
    for (unsigned source = 0; source < shards; ++source) {
      if (source != index_) work += take(source);
    }
  }
  if (out_.load(std::memory_order_relaxed) < wanted()) work += launch();
  if (waiting_first_ != nullptr) work += forward();
  return work;
}

// One clock reading serves a burst: its tokens leave the ring at one moment.
unsigned ExchangeShard::take(unsigned source) {
  std::array<Token*, kBurst> burst{};
  const std::size_t count = exchange_.lane(source, index_).pop_burst(burst);
  if (count == 0) return 0;
  const Instant taken_at = clock_.now();
  unsigned remote = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Token& token = *burst[i];
    remote += exchange_.shard(token.home).memory_node_ != cpu_node_ ? 1U : 0U;
    PLNET_DEBUG_CHECK(token.target == index_, "tokens arrive at their targets");
    const Duration hop = std::max(taken_at - token.sent_at, Duration::zero());
    hops_[source].record(static_cast<std::uint64_t>(hop.count()));
    if (settings_.work > Duration::zero()) work_for(settings_.work);
    arrive(token);
  }
  if (counters_ != nullptr) {
    counters_->add(PollerCounter::kHopsIn, count);
    counters_->add(PollerCounter::kTokens, count);
    counters_->add(PollerCounter::kRemoteBuffers, remote);
  }
  return static_cast<unsigned>(count);
}

void ExchangeShard::arrive(Token& token) {
  const unsigned out = out_.load(std::memory_order_relaxed);
  if (token.home == index_ && out > wanted()) {
    token.next = free_first_;
    free_first_ = &token;
    // Release: a reader that sees all tokens at home also sees the figures of their last hops.
    out_.store(out - 1, std::memory_order_release);
    return;
  }
  token.target = next_target(token);
  queue(token);
}

unsigned ExchangeShard::next_target(const Token& token) {
  const unsigned shards = exchange_.shard_count();
  if (shards == 1) return index_;
  if (!settings_.enable && token.home != index_) return token.home;
  round_ = (round_ + 1) % shards;
  if (round_ == index_) round_ = (round_ + 1) % shards;
  return round_;
}

void ExchangeShard::queue(Token& token) {
  token.next = nullptr;
  if (waiting_first_ == nullptr) {
    waiting_first_ = &token;
  } else {
    waiting_last_->next = &token;
  }
  waiting_last_ = &token;
}

unsigned ExchangeShard::launch() {
  unsigned launched = 0;
  unsigned out = out_.load(std::memory_order_relaxed);
  while (launched < kBurst && out < wanted()) {
    PLNET_CHECK(free_first_ != nullptr, "validate() keeps the settings within the pool");
    Token& token = *free_first_;
    free_first_ = token.next;
    token.target = next_target(token);
    queue(token);
    ++out;
    ++launched;
  }
  out_.store(out, std::memory_order_relaxed);
  return launched;
}

// Sends waiting tokens, oldest first; a token whose ring is full keeps its position for the next
// turn.
unsigned ExchangeShard::forward() {
  std::array<bool, Exchange::kShardsMax> rung{};
  const Instant sent_at = clock_.now();
  Token* token = waiting_first_;
  waiting_first_ = nullptr;
  waiting_last_ = nullptr;
  unsigned sent = 0;
  while (token != nullptr) {
    Token& current = *token;
    token = current.next;
    current.sent_at = sent_at;
    const unsigned target = current.target;
    // After a push the token belongs to the receiver and must not be touched.
    if (exchange_.lane(index_, target).push(&current)) {
      rung[target] = true;
      ++sent;
    } else {
      queue(current);
    }
  }
  const unsigned shards = exchange_.shard_count();
  for (unsigned target = 0; target < shards; ++target) {
    if (rung[target] && target != index_) exchange_.shard(target).doorbell_.ring();
  }
  if (counters_ != nullptr && sent > 0) counters_->add(PollerCounter::kHopsOut, sent);
  return sent;
}

// Also bounded by a count: each reading of a real clock takes a nanosecond or more, and a manual
// clock does not move here.
void ExchangeShard::work_for(Duration work) const {
  const Instant end = clock_.now() + work;
  for (Duration::rep looks = work.count(); looks > 0 && clock_.now() < end; --looks) {
  }
}

void ExchangeShard::reset_owner() {
  for (Histogram& histogram : hops_)
    histogram.reset();
}

Exchange::Exchange(const Clock& clock, std::span<const Place> places) {
  PLNET_CHECK(!places.empty() && places.size() <= kShardsMax, "a bounded number of shards");
  const auto count = static_cast<unsigned>(places.size());
  shards_.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    PLNET_CHECK(places[i].doorbell != nullptr, "each shard can be woken");
    shards_.push_back(std::make_unique<ExchangeShard>(*this, clock, i, places[i]));
  }
  lanes_.resize(std::size_t{count} * count);
  for (unsigned low = 0; low < count; ++low) {
    for (unsigned high = count == 1 ? low : low + 1; high < count; ++high) {
      Channel& channel = *channels_.emplace_back(std::make_unique<Channel>(lane_capacity(count)));
      lanes_[std::size_t{low} * count + high] = &channel.there();
      if (high != low) lanes_[std::size_t{high} * count + low] = &channel.back();
    }
  }
}

Outcome<void> Exchange::validate(const ExchangeLoad& settings) const {
  const std::size_t pairs = std::max(shard_count() - 1, 1U);
  const std::size_t most = kTokensPerShard / pairs;
  if (settings.in_flight > most) {
    return failure(Errc::kOutOfRange, "exchange: in_flight is " +
                                          std::to_string(settings.in_flight) + ", expected 1 to " +
                                          std::to_string(most) + " with " +
                                          std::to_string(shard_count()) + " shards");
  }
  // A turn processes up to kBurst tokens of each source; a millisecond for each is plenty.
  constexpr Duration kWorkMax = std::chrono::milliseconds(1);
  if (settings.work < Duration::zero() || settings.work > kWorkMax) {
    return failure(Errc::kOutOfRange, "exchange: work_nsec is " +
                                          std::to_string(settings.work.count()) +
                                          ", expected 0 to " + std::to_string(kWorkMax.count()));
  }
  return {};
}

Outcome<void> Exchange::apply(const ExchangeLoad& settings, std::span<Poller* const> pollers) {
  PLNET_CHECK(pollers.size() == shards_.size(), "one poller per shard");
  if (auto valid = validate(settings); !valid) return valid;
  if (settings.enable && shards_.front()->hops_.empty()) {
    for (const auto& shard : shards_)
      shard->hops_ = std::vector<Histogram>(shard_count());
  }
  return order_all(pollers, [&](std::size_t i) {
    return make_command([shard = shards_[i].get(), settings] { shard->apply_owner(settings); });
  });
}

std::function<void()> Exchange::reset_work(unsigned index) {
  // No figures exist before the first enabling, and no order may look at the histograms while that
  // enabling makes them.
  ExchangeShard& shard = *shards_[index];
  if (shard.hops_.empty()) return [] {};
  return [&shard] { shard.reset_owner(); };
}

bool Exchange::drained() const {
  return std::ranges::all_of(
      shards_, [](const auto& shard) { return shard->out_.load(std::memory_order_acquire) == 0; });
}

std::vector<HopSummary> Exchange::summary() const {
  std::vector<HopSummary> rows;
  const auto hops = std::make_unique<HistogramSnapshot>();  // too large for the stack
  for (unsigned from = 0; from < shard_count(); ++from) {
    for (unsigned to = 0; to < shard_count(); ++to) {
      if (from == to && shard_count() > 1) continue;
      HopSummary row{.from = from, .to = to};
      if (!shards_[to]->hops_.empty()) {
        shards_[to]->hops_[from].snapshot(*hops);
        row.hops = hops->count();
        row.p50_nsec = hops->percentile(50);
        row.p99_nsec = hops->percentile(99);
        row.max_nsec = hops->max();
      }
      rows.push_back(row);
    }
  }
  return rows;
}

TokenCensus Exchange::census() const {
  TokenCensus census;
  for (const auto& shard : shards_) {
    census.made += kTokensPerShard;
    for (const auto* token = shard->free_first_; token != nullptr; token = token->next)
      ++census.at_home;
    for (const auto* token = shard->waiting_first_; token != nullptr; token = token->next)
      ++census.waiting;
  }
  for (const auto* lane : lanes_) {
    if (lane != nullptr) census.in_rings += lane->size();
  }
  return census;
}

std::vector<double> hop_rates(std::span<const HopSummary> before, std::span<const HopSummary> after,
                              Duration elapsed) {
  PLNET_CHECK(before.size() == after.size(), "two summaries of one exchange");
  std::vector<double> rates(after.size(), 0.0);
  if (elapsed <= Duration::zero()) return rates;
  const double seconds = std::chrono::duration<double>(elapsed).count();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::uint64_t base = after[i].hops >= before[i].hops ? before[i].hops : 0;
    rates[i] = static_cast<double>(after[i].hops - base) / seconds;
  }
  return rates;
}

}  // namespace plnet::runtime

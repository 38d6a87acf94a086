// SPDX-License-Identifier: BSD-3-Clause
// RPCs of selftest from one core to another: the client's shard has the first CPU, the server's the
// second.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/harness/harness.hpp"
#include "bench/harness/partner.hpp"
#include "bench/selftest/cable.hpp"
#include "bench/selftest/run_load.hpp"
#include "bench/tcp/bare_pair.hpp"
#include "bench/tcp/node.hpp"

namespace plnet::bench {
namespace {

using selftest::BulkOperation;

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::size_t kCableFrames = 1024;
constexpr lnet::Nid kClient = lnet::Nid::of(lnet::NetType::kTcp, 0, 1);
constexpr lnet::Nid kServer = lnet::Nid::of(lnet::NetType::kTcp, 0, 2);

// --- Two nodes on a cable ---

class CableNode {
 public:
  CableNode(const lnet::Nid& nid, CableLane& out, CableLane& in)
      : bytes_(kLoadMemoryBytes),
        core_({.nids = {nid},
               .limits = {.peer_ports = 16,
                          .extra_links = 16,
                          .messages = 2048,
                          .receives = 2048,
                          .descriptors = kLoadDescriptors,
                          .match_entries = kLoadDescriptors},
               .peers = 16,
               .tunables = {.peer_credits = 128, .credits = 256},
               .arenas = with_memory()},
              [&](lnet::NiPort& port, lnet::ShardId /*shard*/) {
                return std::make_unique<CableLnd>(out, in, arenas_, port);
              }) {}

  void know(const lnet::Nid& peer) { (void)core_.add_peer(peer); }
  void set_resident(Pollable* resident) { resident_ = resident; }
  void turn() {
    const Instant now = clock_.now();
    core_.shard(0).begin_turn(now);
    if (resident_ != nullptr) (void)resident_->poll(now);
    (void)core_.turn_shard(0, now);
  }
  [[nodiscard]] lnet::Shard& shard() { return core_.shard(0); }
  [[nodiscard]] std::span<std::byte> memory() { return bytes_; }

 private:
  const ArenaTable* with_memory() {
    (void)arenas_.add({.base = bytes_.data(), .size = bytes_.size()});
    return &arenas_;
  }

  runtime::TscClock clock_;
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  mocks::CoreNode core_;
  Pollable* resident_ = nullptr;
};

struct CableSite {
  CableSite() {
    near.know(kServer);
    far.know(kClient);
    near.turn();
    far.turn();
  }
  [[nodiscard]] static const char* trouble() { return nullptr; }
  [[nodiscard]] static lnet::Nid server() { return kServer; }

  CableLane there{kCableFrames};
  CableLane back{kCableFrames};
  CableNode near{kClient, there, back};
  CableNode far{kServer, back, there};
};

// --- Two nodes on TCP ---

struct TcpSite {
  explicit TcpSite(std::int32_t peer_credits)
      : pair({.peer_credits = peer_credits,
              .memory_bytes = kLoadMemoryBytes,
              .descriptors = kLoadDescriptors,
              .match_entries = kLoadDescriptors}) {}
  [[nodiscard]] const char* trouble() const { return pair.ready() ? nullptr : kNotReady; }
  [[nodiscard]] lnet::Nid server() const { return far.nid(); }

  TcpNodePair pair;
  TcpNode& near = *pair.near;
  TcpNode& far = *pair.far;
};

// --- The measurement ---

// A continuous stream from one core to the other.
void bare_stream(benchmark::State& state, bool towards_near) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  std::vector<std::byte> from(kPiece, std::byte{1});
  std::vector<std::byte> to(kPiece);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> pieces{0};
  const auto send = [&](int socket) { (void)spin_send(socket, from, stop); };
  const auto receive = [&](int socket) {
    if (spin_receive(socket, to, stop)) pieces.fetch_add(1, std::memory_order_relaxed);
  };
  {
    const Partner partner(state, [&] {
      while (!stop.load(std::memory_order_relaxed))
        towards_near ? send(pair.far.get()) : receive(pair.far.get());
    });
    if (!partner.ready()) return;
    const std::uint64_t first = pieces.load();
    for ([[maybe_unused]] auto _ : state)
      towards_near ? receive(pair.near.get()) : send(pair.near.get());
    state.counters["value"] = benchmark::Counter(
        static_cast<double>(pieces.load() - first) * kPiece / kGib, benchmark::Counter::kIsRate);
    stop.store(true);
  }
}

Bar at_least(double limit) {
  return {.limit = limit, .side = Bar::Side::kAtLeast};
}

struct TcpBench {
  std::string name;
  std::string what;
  LoadShape shape;
  std::optional<Bar> bar;
  std::int32_t peer_credits = 8;
};

void add(Suite& suite, const TcpBench& one) {
  suite.push_back({.name = one.name,
                   .what = one.what,
                   .unit = "RPC/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = one.bar,
                   .value = [=](benchmark::State& state) {
                     TcpSite site(one.peer_credits);
                     run_load(state, site, one.shape);
                   }});
}

void add_bulk(Suite& suite, const std::string& name, BulkOperation operation) {
  const bool read = operation == BulkOperation::kRead;
  suite.push_back({.name = name,
                   .what = std::string("1 MiB ") + (read ? "read" : "written") +
                           ", 8 at a time, no check; floor: a bare stream the same way",
                   .unit = "GiB/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.3,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.85, .side = Bar::Side::kAtLeast},
                   .value =
                       [=](benchmark::State& state) {
                         TcpSite site(8);
                         run_load(state, site, brw(operation, 1U << 20U, 8));
                       },
                   .floor = [=](benchmark::State& state) { bare_stream(state, read); }});
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "selftest.null.rate",
                   .what = "pings, 64 at a time, over a pair of rings instead of a network",
                   .unit = "RPC/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.1,
                   .bar = at_least(1e6),
                   .value = [](benchmark::State& state) {
                     CableSite site;
                     run_load(state, site, {.concurrency = 64});
                   }});
  add(suite, {.name = "selftest.tcp.ping",
              .what = "pings, 64 at a time",
              .shape = {.concurrency = 64},
              .bar = at_least(500e3)});
  add(suite, {.name = "selftest.tcp.ping.credits",
              .what = "the same, peer_credits 128",
              .shape = {.concurrency = 64},
              .bar = {},
              .peer_credits = 128});
  add(suite, {.name = "selftest.tcp.4k",
              .what = "4 KiB read, 32 at a time, no check",
              .shape = brw(BulkOperation::kRead, 4096, 32),
              .bar = at_least(150e3)});
  add(suite, {.name = "selftest.tcp.4k.write",
              .what = "4 KiB written, 32 at a time, no check",
              .shape = brw(BulkOperation::kWrite, 4096, 32),
              .bar = at_least(150e3)});
  add(suite, {.name = "selftest.tcp.4k.credits",
              .what = "4 KiB read, 32 at a time, no check, peer_credits 128",
              .shape = brw(BulkOperation::kRead, 4096, 32),
              .bar = {},
              .peer_credits = 128});
  add_bulk(suite, "selftest.tcp.bulk", BulkOperation::kRead);
  add_bulk(suite, "selftest.tcp.bulk.write", BulkOperation::kWrite);
}

}  // namespace plnet::bench

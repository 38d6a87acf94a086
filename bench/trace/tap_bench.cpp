// SPDX-License-Identifier: BSD-3-Clause
// The cost of captures for the node: messages a second through the core with a capture, against the
// same without one. doc/lnetdump.md states the consequences for an administrator.
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "bench/harness/harness.hpp"
#include "bench/harness/partner.hpp"
#include "bench/lnet/putter.hpp"
#include "lib/runtime/trace/filter_runner.hpp"
#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/tap/shard_tap.hpp"

namespace plnet::bench {
namespace {

constexpr std::size_t kRingBytes = std::size_t{64} << 20U;
constexpr const char* kMissing = "portal OST_IO and len > 4096 and src 10.0.0.0/8@tcp";

struct Memory {
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlign); }
  };
  static constexpr std::align_val_t kAlign{4096};

  explicit Memory(std::size_t size)
      : bytes(new(kAlign) std::byte[size]()), span(bytes.get(), size) {}

  std::unique_ptr<std::byte, Free> bytes;
  std::span<std::byte> span;
};

struct Capture {
  explicit Capture(const trace::RecordFilter* filter)
      : memory(trace::ring_memory_bytes(kRingBytes)),
        shard(trace::RingWriter::create(memory.span, {}).value(), filter, 0),
        tap(arenas, offset, {&shard}) {
    slots[0].tap = &tap;
  }

  ArenaTable arenas;
  std::atomic<std::int64_t> offset{0};
  Memory memory;
  trace::ShardCapture shard;
  trace::ShardTap tap;
  std::array<lnet::TapSlot, 1> slots;
};

void put_unwatched(benchmark::State& state) {
  Site site(1);
  put_with_ack(state, site, kPeers);
}

// Another thread reads as fast as messages come.
void put_captured(benchmark::State& state) {
  Capture capture(nullptr);
  Site site(1, &capture.arenas, capture.slots);
  auto reader = trace::RingReader::attach(capture.memory.span).value();
  std::atomic<bool> over{false};
  std::uint64_t read = 0;
  {
    const Partner partner(state, [&] {
      while (!over.load(std::memory_order_relaxed)) {
        while (reader.next().value())
          ++read;
      }
    });
    if (!partner.ready()) return;
    put_with_ack(state, site, kPeers);
    over.store(true, std::memory_order_relaxed);
  }
  state.counters["records"] = static_cast<double>(read);
  state.counters["lost"] = static_cast<double>(reader.lost());
}

runtime::FilterRunner runner() {
  return runtime::FilterRunner::load(
             trace::compile(trace::Expression::parse(kMissing).value()).value())
      .value();
}

void put_filtered(benchmark::State& state) {
  const runtime::FilterRunner filter = runner();
  Capture capture(&filter);
  Site site(1, &capture.arenas, capture.slots);
  put_with_ack(state, site, kPeers);
}

trace::FilterInput some_input() {
  trace::FilterInput input;
  input.present = trace::kHasPortal;
  input.portal = 6;
  input.record.payload_length = 8192;
  input.record.source = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0b000001);
  return input;
}

void run_machine_code(benchmark::State& state) {
  const runtime::FilterRunner filter = runner();
  trace::FilterInput input = some_input();
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(filter.matches(input));
  if (!filter.is_machine_code()) state.SkipWithError("librte_bpf has no JIT here");
}

void run_interpreter(benchmark::State& state) {
  const runtime::FilterRunner filter = runner();
  trace::FilterInput input = some_input();
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(filter.interpret(input));
}

}  // namespace

void add_benchmarks(Suite& suite) {
  constexpr double kRound = 0.2;
  suite.push_back({.name = "trace.off",
                   .what = "core.null.rate with the tap compiled in and nothing attached",
                   .unit = "msg/s",
                   .round_seconds = kRound,
                   .value = put_unwatched});
  suite.push_back({.name = "trace.headers",
                   .what = "the same, all headers captured and read; against nothing attached",
                   .unit = "msg/s",
                   .round_seconds = kRound,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.80, .side = Bar::Side::kAtLeast},
                   .value = put_captured,
                   .floor = put_unwatched});
  suite.push_back({.name = "trace.filter.miss",
                   .what = "the same with a filter that matches nothing; against nothing attached",
                   .unit = "msg/s",
                   .round_seconds = kRound,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.93, .side = Bar::Side::kAtLeast},
                   .value = put_filtered,
                   .floor = put_unwatched});
  suite.push_back({.name = "trace.filter.jit",
                   .what = "one run of a filter as machine code; against librte_bpf's interpreter",
                   .value = run_machine_code,
                   .floor = run_interpreter});
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// The cost of a message of a capture file: decoding alone, and all of `lnetdump analyze` with one
// and with two threads.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "apps/lnetdump/analysis.hpp"
#include "bench/harness/harness.hpp"
#include "lib/trace/decode/message.hpp"
#include "lib/trace/decode/rpc_wire.hpp"
#include "lib/trace/file/capture_reader.hpp"
#include "lib/trace/file/capture_writer.hpp"

namespace plnet::bench {
namespace {

constexpr std::size_t kMessages = 200'000;
constexpr std::uint32_t kNodes = 200;
constexpr std::uint32_t kOstRead = 3;
constexpr std::size_t kBodyBytes = 184;

// A request or reply of one buffer: a header of 40 bytes and the body.
std::vector<std::byte> rpc(std::uint32_t type) {
  std::vector<std::byte> bytes(40 + kBodyBytes);
  const auto put = [&](std::size_t at, std::uint32_t value) {
    std::memcpy(&bytes[at], &value, sizeof value);
  };
  put(0, 1);
  put(8, trace::kRpcMagic);
  put(32, kBodyBytes);
  put(40 + 8, type);
  put(40 + 12, 3);
  put(40 + 16, kOstRead);
  return bytes;
}

// Requests and replies in turn, of many clients and servers.
trace::Record message(std::size_t number, std::span<const std::byte> payload) {
  const bool is_reply = number % 2 == 1;
  const auto pair = static_cast<std::uint32_t>(number / 2);
  const auto client = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + pair % kNodes);
  const auto server = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a010000 + pair % 16);
  lnet::MessageHeader header{.destination = is_reply ? client : server,
                             .source = is_reply ? server : client,
                             .type = lnet::MessageType::kPut,
                             .payload_length = static_cast<std::uint32_t>(payload.size())};
  header.set_area(
      lnet::PutArea{.match_bits = std::uint64_t{pair} * 128, .portal = is_reply ? 4U : 6U});
  trace::Record record;
  trace::set_header(header, record.header);
  record.header.time_ns = number * 1000;
  record.header.captured = header.payload_length;
  record.header.hop = header.source;
  record.payload = payload;
  return record;
}

void decode_messages(benchmark::State& state) {
  const auto request = rpc(trace::kRpcRequest);
  const auto reply = rpc(trace::kRpcReply);
  std::vector<trace::Record> records;
  for (std::size_t i = 0; i < 1024; ++i)
    records.push_back(message(i, i % 2 == 0 ? request : reply));
  std::uint64_t opcodes = 0;
  std::size_t at = 0;
  trace::FilterInput input;
  for ([[maybe_unused]] auto _ : state) {
    const trace::Message decoded = trace::decode(records[at++ % records.size()]);
    fill_header(decoded.record, input);
    fill_content(decoded, input);
    opcodes += input.opcode;
  }
  benchmark::DoNotOptimize(opcodes);
  state.counters["value"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

const std::string& file() {
  static const std::string kFile = [] {
    const auto request = rpc(trace::kRpcRequest);
    const auto reply = rpc(trace::kRpcReply);
    trace::CaptureWriter writer(trace::PacketStyle::kUpperPdu, "bench");
    const auto interface = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a0000fe);
    std::string all;
    for (std::size_t i = 0; i < kMessages; ++i) {
      writer.add(message(i, i % 2 == 0 ? request : reply), interface);
      if (writer.waiting_bytes() > (1U << 20U)) all += writer.take();
    }
    return all + writer.take();
  }();
  return kFile;
}

void analyze(benchmark::State& state, unsigned threads) {
  const std::span bytes = std::as_bytes(std::span(file()));
  std::uint64_t messages = 0;
  for ([[maybe_unused]] auto _ : state) {
    lnetdump::Analysis analysis({.threads = threads});
    trace::CaptureReader reader;
    std::span<const std::byte> rest = bytes;
    while (reader.next(rest) == trace::CaptureReader::Step::kPacket)
      analysis.add(reader.packet());
    analysis.end_file();
    messages += analysis.finish().messages();
  }
  state.counters["value"] =
      benchmark::Counter(static_cast<double>(messages), benchmark::Counter::kIsRate);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "trace.decode",
                   .what = "records of Lustre RPCs decoded, and their fields for filters",
                   .unit = "msg/s",
                   .bar = Bar{.limit = 2e6, .side = Bar::Side::kAtLeast},
                   .value = decode_messages});
  suite.push_back({.name = "trace.analyze",
                   .what = "lnetdump analyze by two threads; against one",
                   .unit = "msg/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.3,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 1.8, .side = Bar::Side::kAtLeast},
                   .value = [](benchmark::State& state) { analyze(state, 2); },
                   .floor = [](benchmark::State& state) { analyze(state, 1); }});
}

}  // namespace plnet::bench

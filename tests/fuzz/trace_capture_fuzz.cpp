// SPDX-License-Identifier: BSD-3-Clause
// Capture files of anybody, read at once and in pieces: the same packets either way, and the
// messages in them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/trace/decode/message.hpp"
#include "lib/trace/file/capture_reader.hpp"
#include "lib/trace/file/capture_source.hpp"
#include "lib/trace/file/capture_writer.hpp"

using namespace plnet::trace;

namespace {

struct Sink : RecordSink {
  CaptureWriter writer{PacketStyle::kTcp, "fuzz"};

  void on_record(const Record& record, const plnet::lnet::Nid& interface) override {
    PLNET_CHECK(record.payload.size() <= record.header.payload_length, "no more than there is");
    (void)decode(record);
    writer.add(record, interface);
    (void)writer.take();
  }
};

std::size_t packets_in_pieces(std::span<const std::byte> file) {
  CaptureReader reader;
  std::vector<std::byte> waiting;
  std::size_t packets = 0;
  for (std::size_t at = 0; at < file.size(); at += 37) {
    const auto piece = file.subspan(at, std::min<std::size_t>(37, file.size() - at));
    waiting.insert(waiting.end(), piece.begin(), piece.end());
    std::span<const std::byte> bytes = waiting;
    while (reader.next(bytes) == CaptureReader::Step::kPacket)
      ++packets;
    waiting.erase(waiting.begin(), waiting.end() - static_cast<std::ptrdiff_t>(bytes.size()));
  }
  return packets;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> copy(data, data + size);
  const auto file = std::as_bytes(std::span(copy));
  CaptureReader reader;
  Sink sink;
  CaptureSource source(sink, {.snap_bytes = 4096});
  std::span bytes = file;
  std::size_t packets = 0;
  while (reader.next(bytes) == CaptureReader::Step::kPacket) {
    source.add(reader.packet());
    ++packets;
  }
  source.finish();
  PLNET_CHECK(packets_in_pieces(file) == packets, "pieces make no difference");
  return 0;
}

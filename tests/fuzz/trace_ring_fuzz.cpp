// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a ring under an other side that lies: a writer whose reader moves its cursor as it
// likes, and a reader in whose memory anything may stand.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/trace/record/ring.hpp"

using namespace plnet::trace;

namespace {

constexpr std::size_t kMemory = ring_memory_bytes(kRingBytesMin);

struct alignas(4096) Memory {
  std::array<std::byte, kMemory> bytes{};
};

void write_beside_liar(std::span<const std::uint8_t> data) {
  static Memory memory;
  memory = {};
  RingWord cursor{0};
  auto writer =
      RingWriter::create(memory.bytes, {.keep = Keep::kOldest, .reader_cursor = &cursor}).value();
  std::array<std::byte, kRingSnapMax> payload{};
  RecordHeader header;
  for (std::size_t at = 0; at + 9 <= data.size(); at += 9) {
    std::uint64_t lie = 0;
    std::memcpy(&lie, &data[at], sizeof lie);
    cursor.store(lie, std::memory_order_relaxed);
    (void)writer.write(header, std::span(payload).first(data[at + 8] * 16U % payload.size()));
  }
}

void read_nonsense(std::span<const std::uint8_t> data) {
  static Memory memory;
  memory = {};
  auto writer = RingWriter::create(memory.bytes, {}).value();
  RecordHeader header;
  for (int i = 0; i < 300; ++i)
    (void)writer.write(header, {});
  auto reader = RingReader::attach(memory.bytes).value();
  // Anywhere but in what attach() has looked at.
  for (std::size_t at = 0; at + 3 <= data.size(); at += 3) {
    const std::size_t where = 64 + (std::size_t{data[at]} << 8U | data[at + 1]) % (kMemory - 64);
    memory.bytes[where] = static_cast<std::byte>(data[at + 2]);
  }
  std::size_t steps = 0;
  for (; steps < 10'000; ++steps) {
    const auto record = reader.next();
    if (!record || !*record) break;
    PLNET_CHECK((*record)->payload.size() <= kRingSnapMax, "a record is bounded");
    (void)reader.interface((*record)->header.interface);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> rest(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    write_beside_liar(rest);
  } else {
    read_nonsense(rest);
  }
  return 0;
}

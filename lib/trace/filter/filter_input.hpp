// SPDX-License-Identifier: BSD-3-Clause
// The input of a filter: the record's fixed part and the fields from its type area and its payload,
// each at a fixed place. A program reads memory at constant offsets only, so it is easily proven
// safe, and the same bytes give the same result on a node and offline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/trace/decode/message.hpp"
#include "lib/trace/record/record.hpp"

namespace plnet::trace {

// Bits of FilterInput::present. The fields of the record itself are always present.
enum FilterPresence : std::uint32_t {
  kHasPortal = 1U << 0,
  kHasMatchBits = 1U << 1,
  kHasOffset = 1U << 2,
  kHasSinkLength = 1U << 3,
  kHasHeaderData = 1U << 4,
  kHasOpcode = 1U << 5,
  kHasRpcType = 1U << 6,
  kHasStatus = 1U << 7,
  kHasXid = 1U << 8,
  kHasJob = 1U << 9,
  kHasPid = 1U << 10,
  kHasReint = 1U << 11,
  kHasIntent = 1U << 12,
  kHasSelftestType = 1U << 13,
  kHasTransaction = 1U << 14,
  kHasIds = 1U << 15,
  kHasBodyFlags = 1U << 16,
  kHasBulkBits = 1U << 17,
  kHasTag = 1U << 18,
  kHasProject = 1U << 19,
};

struct FilterInput {
  RecordHeader record;
  // From the type area.
  std::uint32_t present = 0;
  std::uint32_t portal = 0;
  std::uint64_t match_bits = 0;
  std::uint64_t header_data = 0;
  std::uint32_t offset = 0;
  std::uint32_t sink_length = 0;
  // From the payload.
  std::uint64_t xid = 0;
  std::uint64_t transaction = 0;
  std::uint64_t bulk_bits = 0;
  std::uint64_t intent = 0;
  std::array<char, kJobIdBytes> job{};  // zeros after its end
  std::uint32_t opcode = 0;
  std::uint32_t rpc_type = 0;
  std::int32_t status = 0;
  std::uint32_t pid = 0;
  std::uint32_t reint = 0;
  std::uint32_t selftest_type = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t body_flags = 0;
  std::uint32_t project = 0;
  std::uint32_t tag = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(FilterInput) == 272 && alignof(FilterInput) == 8);
static_assert(offsetof(FilterInput, present) == 128 && offsetof(FilterInput, job) == 192);

// The 8-byte words of a record that most filters read: NIDs of small networks, process ids, length,
// type, direction and cause. A node fills in the other words only when a message matches.
inline constexpr std::uint32_t kBriefWords =
    1U << 6U | 1U << 8U | 1U << 9U | 1U << 11U | 1U << 13U | 1U << 14U | 1U << 15U;
[[nodiscard]] constexpr bool is_brief(std::size_t offset, std::size_t bytes) {
  const std::size_t last = (offset + bytes - 1) / 8;
  for (std::size_t word = offset / 8; word <= last && word < sizeof(RecordHeader) / 8; ++word) {
    if ((kBriefWords >> word & 1U) == 0) return false;
  }
  return true;
}
static_assert(is_brief(offsetof(RecordHeader, source), 8) && !is_brief(0, 8));
static_assert(is_brief(offsetof(RecordHeader, destination), 8));
static_assert(is_brief(offsetof(RecordHeader, hop), 8));
static_assert(is_brief(offsetof(RecordHeader, source_pid), sizeof(RecordHeader) - 108));

// Fills the record and the fields of the type area, and marks all others as absent.
void fill_header(const Record& record, FilterInput& input);
// The same for an input that already has the record: fills the fields of the type area.
void fill_type_area(lnet::MessageType type, const std::array<std::byte, lnet::kTypeAreaBytes>& area,
                    FilterInput& input);
// The next step for filters that need it: fills the fields of the payload.
void fill_content(const Message& message, FilterInput& input);

}  // namespace plnet::trace

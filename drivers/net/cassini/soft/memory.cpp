// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/memory.hpp"

#include <algorithm>

#include "drivers/net/cassini/soft/process_memory.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

// Unmapped space around each mapping, so that an overrun never hits a neighbour.
constexpr std::uint64_t kGuardBytes = 16 * kPageBytes;
constexpr std::uint64_t kLowestIova = std::uint64_t{1} << 40;
constexpr std::uint64_t kHighestIova = kIovaLimit / 2;

bool is_there(const std::byte* memory, std::uint64_t length, Access access) {
  const MemorySeen seen = look_at_memory(memory, length);
  return seen.whole && (access == Access::kRead ? seen.readable : seen.writable);
}

}  // namespace

unsigned AddressSpace::context_for(const MapRequest& request, std::uint64_t length) {
  if (!request.kind) return static_cast<unsigned>(random_.below(kAddressContextsPerGroup));
  unsigned empty = kNoContext;
  for (unsigned lac = 0; lac < kAddressContextsPerGroup; ++lac) {
    if (!has(lac)) {
      empty = std::min(empty, lac);
    } else if (kinds_[lac] == request.kind && mapped_[lac] < kContextBytes &&
               length <= kContextBytes - mapped_[lac]) {
      return lac;
    }
  }
  return empty;
}

AddressSpace::Place AddressSpace::add(std::byte* memory, std::size_t length,
                                      const MapRequest& request) {
  const unsigned lac = context_for(request, length);
  if (lac == kNoContext) return {lac, 0};
  kinds_[lac] = request.kind;
  std::vector<Piece>& pieces = contexts_[lac];
  const auto page_offset = reinterpret_cast<std::uintptr_t>(memory) % kPageBytes;
  const std::uint64_t room = (length + page_offset + kPageBytes) / kPageBytes * kPageBytes;
  for (;;) {  // 2^55 bytes for at most 2^16 mappings: the first choice is nearly always free
    const std::uint64_t base =
        random_.between(kLowestIova, kHighestIova - room) / kPageBytes * kPageBytes;
    const auto next = std::ranges::upper_bound(pieces, base, {}, &Piece::iova);
    const bool before = next == pieces.begin() ||
                        std::prev(next)->iova + std::prev(next)->length + kGuardBytes <= base;
    const bool after = next == pieces.end() || base + room + kGuardBytes <= next->iova;
    if (!before || !after) continue;
    const unsigned allowed = (request.read ? static_cast<unsigned>(Access::kRead) : 0U) |
                             (request.write ? static_cast<unsigned>(Access::kWrite) : 0U);
    pieces.insert(next, {base + page_offset, length, memory, allowed,
                         request.on_demand ? std::make_unique<KnownPages>() : nullptr});
    mapped_[lac] += length;
    return {lac, base + page_offset};
  }
}

void AddressSpace::remove(unsigned lac, std::uint64_t iova) {
  std::vector<Piece>& pieces = contexts_[lac];
  const auto at = std::ranges::find(pieces, iova, &Piece::iova);
  PLNET_CHECK(at != pieces.end(), "an unmapped range was mapped");
  mapped_[lac] -= at->length;
  pieces.erase(at);
}

void AddressSpace::know(unsigned lac, std::uint64_t iova, std::uint64_t length) {
  const std::vector<Piece>& pieces = contexts_[lac];
  const auto next = std::ranges::upper_bound(pieces, iova, {}, &Piece::iova);
  if (next == pieces.begin() || std::prev(next)->known == nullptr) return;
  const std::uint64_t offset = iova - std::prev(next)->iova;
  std::prev(next)->known->add(offset, offset + length);
}

unsigned AddressSpace::contexts() const {
  return static_cast<unsigned>(
      std::ranges::count_if(contexts_, [](const auto& pieces) { return !pieces.empty(); }));
}

Translated AddressSpace::search(unsigned lac, std::uint64_t iova, std::uint64_t length,
                                Access access) const {
  const std::vector<Piece>& pieces = contexts_[lac % kAddressContextsPerGroup];
  if (pieces.empty()) return {nullptr, ReturnCode::kInvalidAc};
  const auto next = std::ranges::upper_bound(pieces, iova, {}, &Piece::iova);
  if (next == pieces.begin()) return {nullptr, ReturnCode::kNoTranslation};
  const Piece& piece = *std::prev(next);
  const std::uint64_t offset = iova - piece.iova;
  if (offset > piece.length || length > piece.length - offset)
    return {nullptr, ReturnCode::kNoTranslation};
  if ((piece.allowed & static_cast<unsigned>(access)) == 0)
    return {nullptr, ReturnCode::kPagePermError};
  unsigned requests = 0;
  if (piece.known != nullptr) {
    const std::uint64_t unknown = piece.known->unknown(offset, offset + length);
    requests = static_cast<unsigned>((unknown + kPageBytes - 1) / kPageBytes);
    if (!is_there(piece.memory + offset, length, access))
      return {nullptr, ReturnCode::kPageRequestError, requests};
    if (requests > 0) piece.known->add(offset, offset + length);
  }
  last_[lac % kAddressContextsPerGroup] = static_cast<std::size_t>(&piece - pieces.data());
  return {piece.memory + offset, ReturnCode::kOk, requests};
}

}  // namespace plnet::cassini::soft

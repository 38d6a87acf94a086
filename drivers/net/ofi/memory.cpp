// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/memory.hpp"

#include <cstring>

#include "drivers/net/ofi/context.hpp"
#include "lib/base/check.hpp"

namespace plnet::ofi {

Memory::Memory(const ArenaTable& arenas, unsigned blocks, std::uint32_t block_bytes)
    : arenas_(arenas), block_bytes_(block_bytes), blocks_(std::size_t{blocks} * block_bytes) {
  free_.reserve(blocks);
  for (std::uint32_t i = blocks; i-- > 0;)
    free_.push_back(i);
}

bool Memory::open(fid_domain* domain, const fi_info& info, std::span<std::byte> bytes,
                  std::uint64_t wanted_key, Region& region) {
  PLNET_CHECK(region.mr == nullptr, "a region is registered once");
  if (fi_mr_reg(domain, bytes.data(), bytes.size(), FI_SEND | FI_RECV | FI_READ | FI_REMOTE_READ, 0,
                wanted_key, 0, &region.mr, nullptr) != 0)
    return false;
  region.base = bytes.data();
  const auto mode = static_cast<unsigned>(info.domain_attr->mr_mode);
  if ((mode & FI_MR_VIRT_ADDR) != 0)
    region.remote_base = reinterpret_cast<std::uintptr_t>(bytes.data());
  region.key = fi_mr_key(region.mr);
  region.descriptor = fi_mr_desc(region.mr);
  return true;
}

bool Memory::add(fid_domain* domain, const fi_info& info) {
  for (std::size_t id = 0; id < arenas_.count(); ++id) {
    const Arena& arena = arenas_.arena(static_cast<ArenaId>(id));
    (void)open(domain, info, {arena.base, arena.size}, id + 1, regions_[id]);
  }
  return blocks_.empty() || add(domain, info, blocks_) != nullptr;
}

const Region* Memory::add(fid_domain* domain, const fi_info& info, std::span<std::byte> bytes) {
  PLNET_CHECK(own_count_ < kOwnMax, "an endpoint registers no more memory of its own");
  Region& region = own_[own_count_];
  if (!open(domain, info, bytes, kArenasMax + 1 + own_count_, region)) return nullptr;
  ++own_count_;
  return &region;
}

void Memory::close() {
  for (Region& region : regions_) {
    if (region.mr != nullptr) (void)fi_close(&region.mr->fid);
    region = {};
  }
  for (Region& region : own_) {
    if (region.mr != nullptr) (void)fi_close(&region.mr->fid);
    region = {};
  }
}

std::optional<Place> Memory::contiguous(const lnet::Payload& payload) const {
  std::optional<Place> first;
  BufferAddress next;
  bool whole = true;
  lnet::for_each_piece(payload, [&](const Fragment& piece) {
    if (!first) {
      whole = piece.at.arena < regions_.size() && regions_[piece.at.arena].mr != nullptr;
      first = whole ? Place{arenas_.bytes(piece).data(), &regions_[piece.at.arena]} : Place{};
    } else if (piece.at != next) {
      whole = false;
    }
    next = {piece.at.arena, piece.at.offset + piece.length};
  });
  return whole ? first : std::nullopt;
}

void Memory::gather(const lnet::Payload& from, std::byte* to) const {
  lnet::for_each_piece(from, [&](const Fragment& piece) {
    std::memcpy(to, arenas_.bytes(piece).data(), piece.length);
    to += piece.length;
  });
}

void Memory::scatter(const std::byte* from, const lnet::Payload& to, std::uint32_t length) const {
  lnet::Payload sink = to;
  PLNET_CHECK(length <= sink.length, "the bytes fit into the payload");
  sink.length = length;
  lnet::for_each_piece(sink, [&](const Fragment& piece) {
    std::memcpy(arenas_.bytes(piece).data(), from, piece.length);
    from += piece.length;
  });
}

std::uint32_t Memory::take_block() {
  if (free_.empty()) return kNone;
  const std::uint32_t block = free_.back();
  free_.pop_back();
  return block;
}

void Memory::give_block(std::uint32_t block) {
  PLNET_CHECK(free_.size() < free_.capacity() && block < free_.capacity(),
              "a block comes back once");
  free_.push_back(block);
}

Place Memory::block(std::uint32_t block) const {
  PLNET_CHECK(block < free_.capacity() && own_[0].base != nullptr, "a block of registered memory");
  return {own_[0].base + std::size_t{block} * block_bytes_, own_.data()};
}

}  // namespace plnet::ofi

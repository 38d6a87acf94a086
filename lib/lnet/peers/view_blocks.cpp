// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/view_blocks.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

// Spare blocks for old views; during one turn of a shard not more than these are retired.
std::size_t with_room_for_old(std::size_t peers) {
  return peers + std::min(std::max(peers / 4, std::size_t{4}), peers + 1);
}

template <class Object>
std::size_t bytes_of(const Pool<Object>& pool) {
  return pool.capacity() * (sizeof(Object) + sizeof(typename Pool<Object>::Index) + sizeof(bool));
}

}  // namespace

ViewBlocks::ViewBlocks(const Counts& peers, Qsbr& qsbr)
    : peers_(peers),
      qsbr_(qsbr),
      tiny_(with_room_for_old(peers[0])),
      small_(with_room_for_old(peers[1])),
      medium_(with_room_for_old(peers[2])),
      large_(with_room_for_old(peers[3])) {}

bool ViewBlocks::reserve(std::uint8_t& held, std::size_t nis) {
  for (std::size_t size = 0; size < kViewSizes.size(); ++size) {
    if (nis > kViewSizes[size] || reserved_[size] == peers_[size]) continue;
    ++reserved_[size];
    held = static_cast<std::uint8_t>(size);
    return true;
  }
  return false;
}

bool ViewBlocks::exchange(std::uint8_t& held, std::size_t nis) {
  PLNET_CHECK(held < kViewSizes.size(), "a right is for a block of one size");
  const std::uint8_t old = held;
  cancel(old);  // so that its block counts as available
  if (reserve(held, nis)) return true;
  ++reserved_[old];
  return nis <= kViewSizes[old];
}

bool ViewBlocks::may_exchange(std::uint8_t held, std::size_t nis) const {
  PLNET_CHECK(held < kViewSizes.size(), "a right is for a block of one size");
  if (nis <= kViewSizes[held]) return true;
  for (std::size_t size = held + 1U; size < kViewSizes.size(); ++size) {
    if (nis <= kViewSizes[size] && reserved_[size] < peers_[size]) return true;
  }
  return false;
}

template <class Block>
ViewBlock* ViewBlocks::lay_out(Pool<Block>& pool, std::uint8_t size_class) {
  Block* block = pool.take();
  if (block == nullptr) return nullptr;
  block->nets = block->net_room.data();
  PLNET_CHECK(block->nis == nullptr || block->size_class == size_class, "a block keeps its size");
  block->nis = block->ni_room.data();
  block->size_class = size_class;
  return block;
}

ViewBlock* ViewBlocks::take(std::uint8_t size_class) {
  PLNET_CHECK(size_class < kViewSizes.size() && reserved_[size_class] > 0,
              "a block is for the holder of a right");
  switch (size_class) {
    case 0: return lay_out(tiny_, 0);
    case 1: return lay_out(small_, 1);
    case 2: return lay_out(medium_, 2);
    default: return lay_out(large_, 3);
  }
}

void ViewBlocks::give(ViewBlock* block) {
  PLNET_CHECK(block->size_class < kViewSizes.size(), "a block has one of the sizes");
  switch (block->size_class) {
    case 0: return tiny_.give(static_cast<Sized<kViewSizes[0]>*>(block));
    case 1: return small_.give(static_cast<Sized<kViewSizes[1]>*>(block));
    case 2: return medium_.give(static_cast<Sized<kViewSizes[2]>*>(block));
    default: return large_.give(static_cast<Sized<kViewSizes[3]>*>(block));
  }
}

void ViewBlocks::retire(ViewBlock* block) {
  PLNET_CHECK(block != nullptr && !block->linked(), "a block is retired once");
  block->grace = qsbr_.begin_grace();
  retired_.push_back(*block);
  ++retired_count_;
}

std::size_t ViewBlocks::reclaim(std::size_t limit) {
  PLNET_CHECK((retired_count_ == 0) == retired_.empty(), "retired blocks are counted");
  std::size_t count = 0;
  for (; count < limit; ++count) {
    ViewBlock* oldest = retired_.front();
    if (oldest == nullptr || !qsbr_.passed(oldest->grace)) break;
    retired_.pop_front();
    PLNET_CHECK(retired_count_ > 0, "retired blocks are counted");
    --retired_count_;
    give(oldest);
  }
  return count;
}

std::size_t ViewBlocks::bytes() const {
  return bytes_of(tiny_) + bytes_of(small_) + bytes_of(medium_) + bytes_of(large_);
}

}  // namespace plnet::lnet

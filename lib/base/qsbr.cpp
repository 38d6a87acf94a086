// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/qsbr.hpp"

#include <algorithm>

namespace plnet {

Qsbr::Qsbr(std::size_t readers_max, std::size_t retired_max)
    : readers_max_(readers_max),
      retired_max_(retired_max),
      slots_(std::make_unique<Slot[]>(readers_max)),
      retired_(std::make_unique<Retired[]>(retired_max)) {
  PLNET_CHECK(readers_max > 0 && readers_max < UINT32_MAX, "QSBR without room for a reader");
  PLNET_CHECK(retired_max > 0, "QSBR without room for a retired object");
}

// No reader is left: release all retired objects.
Qsbr::~Qsbr() {
  for (; head_ != tail_; ++head_) {
    const Retired& entry = retired_[head_ % retired_max_];
    entry.release(entry.context, entry.object);
  }
}

Result<Qsbr::Reader> Qsbr::register_reader() {
  std::uint32_t reader = readers_.load(std::memory_order_relaxed);
  do {
    if (reader == readers_max_) return std::unexpected(Errc::kNoSpace);
  } while (!readers_.compare_exchange_weak(reader, reader + 1, std::memory_order_acq_rel));
  return reader;
}

void Qsbr::online(Reader reader) {
  slot(reader).seen.store(epoch_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  // Both sides access the epoch by read-modify-write, so one comes first. If the writer does, this
  // reader sees what it unpublished; if the reader does, the writer sees it online.
  epoch_.fetch_add(0, std::memory_order_acq_rel);
}

bool Qsbr::passed(Grace grace) {
  if (grace <= known_passed_) return true;
  Grace oldest = epoch_.load(std::memory_order_relaxed);
  // A reader that registers now comes online after our epoch and sees all unpublications.
  const std::uint32_t readers = readers_.load(std::memory_order_acquire);
  for (std::uint32_t reader = 0; reader < readers; ++reader) {
    const Grace seen = slots_[reader].seen.load(std::memory_order_acquire);
    if (seen != kOffline) oldest = std::min(oldest, seen);
  }
  known_passed_ = std::max(known_passed_, oldest);
  return grace <= known_passed_;
}

Result<void> Qsbr::retire(void* object, Release release, void* context) {
  PLNET_CHECK(release != nullptr, "a retired object without a release function");
  if (retired() == retired_max_) return std::unexpected(Errc::kNoSpace);
  retired_[tail_ % retired_max_] = {object, release, context, begin_grace()};
  ++tail_;
  return {};
}

std::size_t Qsbr::reclaim(std::size_t limit) {
  std::size_t count = 0;
  while (count < limit && head_ != tail_) {
    const Retired entry = retired_[head_ % retired_max_];
    if (!passed(entry.grace)) break;
    ++head_;
    entry.release(entry.context, entry.object);
    ++count;
  }
  return count;
}

}  // namespace plnet

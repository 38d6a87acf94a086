// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/arena.hpp"

#include <functional>

namespace plnet {

Result<ArenaId> ArenaTable::add(const Arena& arena) {
  if (arena.base == nullptr || arena.size == 0) return std::unexpected(Errc::kInvalid);
  if (count_ == arenas_.size()) return std::unexpected(Errc::kNoSpace);
  arenas_[count_] = arena;
  return static_cast<ArenaId>(count_++);
}

BufferAddress ArenaTable::locate(const void* pointer) const {
  const auto* wanted = static_cast<const std::byte*>(pointer);
  const std::less_equal<> not_after;
  const std::less<> before;
  for (std::size_t i = 0; i < count_; ++i) {
    const Arena& home = arenas_[i];
    if (not_after(home.base, wanted) && before(wanted, home.base + home.size)) {
      return {static_cast<ArenaId>(i), static_cast<std::uint64_t>(wanted - home.base)};
    }
  }
  return {};
}

}  // namespace plnet

// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/null/memory.hpp"

#include <algorithm>

namespace plnet::drivers {

void NullMemory::fill_pieces(const lnet::Payload& target, std::uint32_t length) const {
  std::uint32_t position = 0;
  lnet::for_each_piece(lnet::Payload{target.fragments, target.offset, length},
                       [&](const Fragment& piece) {
                         for (std::byte& byte : arenas_->bytes(piece))
                           byte = pattern(position++);
                       });
}

void NullMemory::write(const lnet::Payload& target, std::span<const std::byte> bytes) const {
  PLNET_CHECK(bytes.size() <= target.length, "more bytes than the target holds");
  if (arenas_ == nullptr || bytes.empty()) return;
  const auto length = static_cast<std::uint32_t>(bytes.size());
  lnet::for_each_piece(lnet::Payload{target.fragments, target.offset, length},
                       [&](const Fragment& piece) {
                         const auto to = arenas_->bytes(piece);
                         std::ranges::copy(bytes.first(to.size()), to.begin());
                         bytes = bytes.subspan(to.size());
                       });
}

}  // namespace plnet::drivers

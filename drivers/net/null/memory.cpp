// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/null/memory.hpp"

namespace plnet::drivers {

void NullMemory::fill(const lnet::Payload& target, std::uint32_t length) const {
  PLNET_CHECK(length <= target.length, "more bytes wanted than the target holds");
  if (arenas_ == nullptr || length == 0) return;
  std::uint32_t position = 0;
  lnet::for_each_piece(lnet::Payload{target.fragments, target.offset, length},
                       [&](const Fragment& piece) {
                         for (std::byte& byte : arenas_->bytes(piece))
                           byte = pattern(position++);
                       });
}

}  // namespace plnet::drivers

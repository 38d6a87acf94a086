// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/message_store.hpp"

#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::kfilnd {

MessageStore::MessageStore(Environment& environment)
    : environment_(environment),
      buffers_(environment.driver, *environment.config.arenas, environment.config.receive_memory,
               static_cast<std::size_t>(environment.config.tunables.immediate_rx_buf_count)),
      copies_(environment.config.copies_max * kInlineBytesMax) {
  free_copies_.reserve(environment.config.copies_max);
  for (std::size_t i = environment.config.copies_max; i > 0; --i)
    free_copies_.push_back(static_cast<std::uint32_t>(i));
}

void MessageStore::hold(Transaction& one, std::uint32_t buffer,
                        std::span<const std::byte> payload) {
  PLNET_CHECK(one.buffer == 0 && one.copy_slot == 0, "a message has one payload");
  one.payload = payload;
  one.buffer = buffer + 1;
  buffers_.hold(buffer);
}

bool MessageStore::copy_out(Transaction& one) {
  PLNET_CHECK(one.copy_slot == 0, "a payload is copied once");
  if (one.payload.empty()) {
    leave_buffer(one);
    return true;
  }
  if (free_copies_.empty()) return false;
  one.copy_slot = free_copies_.back();
  free_copies_.pop_back();
  PLNET_CHECK(one.payload.size() <= kInlineBytesMax, "longer messages are refused");
  PLNET_DEBUG_CHECK(one.copy_slot > 0 && one.copy_slot <= environment_.config.copies_max,
                    "slots are counted from 1");
  std::byte* const place = copies_.data() + std::size_t{one.copy_slot - 1} * kInlineBytesMax;
  std::memcpy(place, one.payload.data(), one.payload.size());
  one.payload = {place, one.payload.size()};
  environment_.count(KfiLndCounters::Id::kCopiedOut);
  leave_buffer(one);
  return true;
}

void MessageStore::free_copy(Transaction& one) {
  PLNET_CHECK(one.copy_slot > 0 && one.copy_slot <= environment_.config.copies_max,
              "slots are counted from 1");
  PLNET_CHECK(free_copies_.size() < environment_.config.copies_max, "a copy is given back once");
  free_copies_.push_back(one.copy_slot);
}

void MessageStore::repost() {
  if (buffers_.missing() == 0 || environment_.now < repost_at_) return;
  environment_.count(KfiLndCounters::Id::kReposts, buffers_.post_missing());
  repost_at_ = environment_.now + kRepostInterval;
}

}  // namespace plnet::kfilnd

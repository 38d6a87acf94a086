// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/ofi/rx.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <rdma/fi_errno.h>

#include "drivers/net/ofi/wire.hpp"
#include "lib/base/check.hpp"

namespace plnet::ofi {

Receiver::Receiver(Context& context, const Memory& memory, RxEvents& events)
    : context_(context),
      memory_(memory),
      events_(events),
      slot_bytes_((context.config.limits.message_bytes_max + PacketHeader::kMessageBytes + 63) /
                  64 * 64),
      slots_(context.config.receive_slots * slot_bytes_),
      handles_(context.config.receive_slots),
      buffers_(std::bit_ceil(std::size_t{context.config.buffers_max})) {
  idle_.reserve(handles_.size());
  for (auto i = static_cast<std::uint32_t>(handles_.size()); i-- > 0;) {
    handles_[i].index = i;
    idle_.push_back(i);
  }
}

void Receiver::attach(Port& port, const Region& region) {
  PLNET_CHECK(port_ == nullptr, "a receiver has one port");
  port_ = &port;
  region_ = &region;
  provider_moves_at_once_ = port.info->addr_format == FI_ADDR_STR;
  lay_out();
}

void Receiver::lay_out() {
  PLNET_CHECK(port_ != nullptr && region_ != nullptr, "the receiver is attached");
  while (!idle_.empty()) {
    const std::uint32_t slot = idle_.back();
    if (fi_recv(port_->endpoint, slots_.data() + slot * slot_bytes_, slot_bytes_,
                region_->descriptor, FI_ADDR_UNSPEC, &handles_[slot].space) != 0)
      return;  // next turn
    idle_.pop_back();
  }
}

Result<void> Receiver::post_multi_receive(const Fragment& buffer, std::uint64_t cookie) {
  if (context_.shut_down) return std::unexpected(Errc::kShutdown);
  if (buffer.length < context_.config.limits.message_bytes_max)
    return std::unexpected(Errc::kInvalid);
  if (buffers() >= context_.config.buffers_max) {
    context_.stats.add(OfiCounters::Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  buffers_[tail_++ & (buffers_.size() - 1)] = {.memory = buffer, .cookie = cookie};
  return {};
}

bool Receiver::take_message(std::span<const std::byte> message) {
  if (buffers() == 0 || context_.shut_down) return false;
  Buffer& buffer = buffers_[head_ & (buffers_.size() - 1)];
  const std::uint32_t longest = context_.config.limits.message_bytes_max;
  PLNET_CHECK(message.size() <= longest, "the caller has checked the length of the message");
  PLNET_CHECK(buffer.memory.length - buffer.used >= longest,
              "a buffer without room for the longest message is unlinked");
  const std::span<std::byte> room = memory_.bytes(buffer.memory).subspan(buffer.used);
  std::memcpy(room.data(), message.data(), message.size());
  const std::uint32_t offset = buffer.used;
  buffer.used += static_cast<std::uint32_t>(message.size());
  const bool full = buffer.memory.length - buffer.used < longest;
  if (full) ++head_;
  context_.stats.add(OfiCounters::Id::kMessages);
  context_.completions.push({.event = kfilnd::FabricEvent::kMessage,
                             .cookie = buffer.cookie,
                             .length = static_cast<std::uint32_t>(message.size()),
                             .offset = offset,
                             .buffer_unlinked = full});
  return true;
}

unsigned Receiver::poll(unsigned limit) {
  const ssize_t count =
      fi_cq_read(port_->rx_queue, entries_.data(), std::min<std::size_t>(limit, entries_.size()));
  unsigned done = 0;
  for (ssize_t i = 0; i < count; ++i) {
    const auto& entry = entries_[static_cast<std::size_t>(i)];
    const std::uint32_t slot = static_cast<const Handle*>(entry.op_context)->index;
    events_.on_packet(
        std::span(slots_).subspan(slot * slot_bytes_, std::min(entry.len, slot_bytes_)));
    PLNET_DEBUG_CHECK(idle_.size() < handles_.size(), "each slot is idle or with the provider");
    idle_.push_back(slot);
    ++done;
  }
  if (count == -FI_EAVAIL) {
    fi_cq_err_entry error{};
    if (fi_cq_readerr(port_->rx_queue, &error, 0) == 1) {
      const bool too_long = error.err == FI_ETRUNC;
      context_.stats.add(too_long ? OfiCounters::Id::kGarbage : OfiCounters::Id::kProviderErrors);
      if (error.op_context != nullptr)
        idle_.push_back(static_cast<const Handle*>(error.op_context)->index);
      else if (provider_moves_at_once_)
        events_.on_lost_read();
      ++done;
    }
  }
  lay_out();
  return done;
}

void Receiver::shut_down() {
  for (; head_ != tail_; ++head_) {
    context_.completions.push({.event = kfilnd::FabricEvent::kBufferUnlinked,
                               .cookie = buffers_[head_ & (buffers_.size() - 1)].cookie});
  }
}

}  // namespace plnet::ofi

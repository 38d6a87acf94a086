// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/multi_receive.hpp"

#include "lib/base/check.hpp"
#include "lib/kfilnd/wire.hpp"

namespace plnet::kfilnd {

MultiReceive::MultiReceive(EndpointDriver& driver, const ArenaTable& arenas, const Fragment& memory,
                           std::size_t count)
    : driver_(driver), arenas_(arenas), count_(count) {
  PLNET_CHECK(count >= 2 && count <= kBuffersMax, "one buffer is posted while another is read");
  PLNET_CHECK(memory.length / count <= UINT32_MAX, "the length of a buffer has 32 bits");
  const auto each = static_cast<std::uint32_t>(memory.length / count);
  PLNET_CHECK(each >= kMessageBytesMax, "a buffer takes a message at least");
  for (std::uint32_t i = 0; i < count; ++i) {
    buffers_[i].memory = {{memory.at.arena, memory.at.offset + std::uint64_t{i} * each}, each};
  }
  missing_ = static_cast<unsigned>(count);
}

void MultiReceive::post(Buffer& buffer) {
  PLNET_CHECK(!buffer.posted && buffer.holders == 0 && missing_ > 0,
              "only an unused buffer is posted");
  if (driver_.post_multi_receive(
          buffer.memory, cookie_of(static_cast<std::uint32_t>(&buffer - buffers_.data())))) {
    buffer.posted = true;
    ++posted_;
    --missing_;
  } else {
    ++refusals_;
  }
}

unsigned MultiReceive::post_missing() {
  const unsigned before = posted_;
  for (std::size_t i = 0; i < count_ && missing_ > 0 && !stopped_; ++i) {
    Buffer& buffer = buffers_[i];
    if (!buffer.posted && buffer.holders == 0) post(buffer);
  }
  PLNET_CHECK(posted_ + missing_ <= count_,
              "a buffer is with the NIC, or missing, or held by messages");
  return posted_ - before;
}

std::span<const std::byte> MultiReceive::message(std::uint32_t index, std::uint32_t offset,
                                                 std::uint32_t length) const {
  PLNET_CHECK(index < count_, "knows() has looked at the cookie");
  const Fragment& memory = buffers_[index].memory;
  if (offset > memory.length || length > memory.length - offset) return {};
  return arenas_.bytes({{memory.at.arena, memory.at.offset + offset}, length});
}

void MultiReceive::let_go(std::uint32_t index) {
  PLNET_CHECK(index < count_, "knows() has looked at the cookie");
  Buffer& buffer = buffers_[index];
  PLNET_CHECK(buffer.holders > 0, "a message lets go of its buffer once");
  if (--buffer.holders > 0 || buffer.posted) return;
  ++missing_;
  if (!stopped_) post(buffer);
}

void MultiReceive::unlinked(std::uint32_t index) {
  PLNET_CHECK(index < count_ && posted_ > 0, "the NIC returns a buffer that it has");
  Buffer& buffer = buffers_[index];
  PLNET_CHECK(buffer.posted, "the NIC returns a buffer that it has");
  buffer.posted = false;
  --posted_;
  if (buffer.holders > 0) return;
  ++missing_;
  if (!stopped_) post(buffer);
}

}  // namespace plnet::kfilnd

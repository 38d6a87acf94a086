// SPDX-License-Identifier: BSD-3-Clause
// The buffers for untagged messages. A buffer is posted again when the NIC has returned it and no
// message in it is in use.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::kfilnd {

inline constexpr std::size_t kBuffersMax = 64;  // immediate_rx_buf_count

class MultiReceive {
 public:
  // `memory` is cut into `count` buffers.
  MultiReceive(EndpointDriver& driver, const ArenaTable& arenas, const Fragment& memory,
               std::size_t count);

  // Posts all buffers at first, later those that the driver has refused. Returns their number.
  unsigned post_missing();
  // No buffer is posted any more.
  void stop() { stopped_ = true; }

  // The driver's name for a buffer.
  [[nodiscard]] static constexpr std::uint64_t cookie_of(std::uint32_t index) { return index; }
  [[nodiscard]] bool knows(std::uint64_t cookie) const { return cookie < count_; }
  // The bytes of a message. Empty if the driver names bytes outside the buffer.
  [[nodiscard]] std::span<const std::byte> message(std::uint32_t index, std::uint32_t offset,
                                                   std::uint32_t length) const;
  // A message in the buffer is in use, or no longer.
  void hold(std::uint32_t index) {
    PLNET_DEBUG_CHECK(index < count_, "a message lies in a buffer of ours");
    ++buffers_[index].holders;
  }
  void let_go(std::uint32_t index);
  // The NIC has returned the buffer.
  void unlinked(std::uint32_t index);

  [[nodiscard]] unsigned posted() const { return posted_; }    // with the NIC
  [[nodiscard]] unsigned missing() const { return missing_; }  // ready, but refused
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }

 private:
  struct Buffer {
    Fragment memory;
    std::uint32_t holders = 0;
    bool posted = false;
  };

  void post(Buffer& buffer);

  EndpointDriver& driver_;
  const ArenaTable& arenas_;
  std::size_t count_;
  std::array<Buffer, kBuffersMax> buffers_{};
  unsigned posted_ = 0;
  unsigned missing_ = 0;
  std::uint64_t refusals_ = 0;
  bool stopped_ = false;
};

}  // namespace plnet::kfilnd

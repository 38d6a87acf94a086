// SPDX-License-Identifier: BSD-3-Clause
// Arriving packets: received into own slots, their messages copied into the LND's multi-receive
// buffers. They are always copied, even if the provider could fill such buffers itself: our header
// does not belong there, and answers have to arrive when no buffer is left.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/net/ofi/context.hpp"
#include "drivers/net/ofi/device.hpp"
#include "drivers/net/ofi/memory.hpp"

namespace plnet::ofi {

class RxEvents {
 public:
  virtual ~RxEvents() = default;
  virtual void on_packet(std::span<const std::byte> bytes) = 0;
  // The provider has reported a failed read of ours here, as shm does.
  virtual void on_lost_read() = 0;
};

class Receiver {
 public:
  Receiver(Context& context, const Memory& memory, RxEvents& events);

  [[nodiscard]] std::span<std::byte> memory() { return slots_; }
  void attach(Port& port, const Region& region);

  [[nodiscard]] Result<void> post_multi_receive(const Fragment& buffer, std::uint64_t cookie);
  // Copies a message into the present buffer; false: there is none.
  [[nodiscard]] bool take_message(std::span<const std::byte> message);

  unsigned poll(unsigned limit);
  void shut_down();
  [[nodiscard]] std::size_t buffers() const { return tail_ - head_; }

 private:
  struct Handle {
    fi_context2 space{};
    std::uint32_t index = 0;
  };
  struct Buffer {
    Fragment memory;
    std::uint64_t cookie = 0;
    std::uint32_t used = 0;
  };

  void lay_out();

  Context& context_;
  const Memory& memory_;
  RxEvents& events_;
  Port* port_ = nullptr;
  const Region* region_ = nullptr;
  bool provider_moves_at_once_ = false;
  std::size_t slot_bytes_;
  std::vector<std::byte> slots_;
  std::array<fi_cq_msg_entry, 32> entries_{};  // filled by poll()
  std::vector<Handle> handles_;
  std::vector<std::uint32_t> idle_;  // slots that the provider does not have
  std::vector<Buffer> buffers_;      // a ring
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace plnet::ofi

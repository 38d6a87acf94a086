// SPDX-License-Identifier: BSD-3-Clause
// The target of discovery pushes from other nodes: one descriptor for one push on portal 0, posted
// again after each. Portal 0 is lazy, so other pushes wait meanwhile. It begins with the least size
// that any node must accept, and grows when a push or a reply shows that a peer has more to send.
// Checked against lustre-release lnet/lnet/api-ni.c: lnet_push_target_post(),
// lnet_push_target_resize(), lnet_push_target_event_handler().
#pragma once

#include <cstdint>
#include <span>

#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/control/ping_exchanges.hpp"

namespace plnet::lnet {

// Reads the push inside the call.
class PushReader {
 public:
  virtual ~PushReader() = default;
  virtual void on_push(const Event& event, std::span<const std::byte> bytes) = 0;
};

class PushTarget final : public EventHandler {
 public:
  // `memory`: one slot.
  PushTarget(DataOperations& operations, PushReader& reader, PingMemory memory);

  // From the next post on, pushes of this size fit; larger ones than any buffer are cut.
  void grow(std::uint32_t bytes);
  // Posts the descriptor if it is not posted. kNoMemory and the like: the next step tries again.
  Result<void> step();
  void close();

  [[nodiscard]] std::uint32_t length() const { return wanted_; }
  [[nodiscard]] bool posted() const { return linked_; }

  void on_event(const Event& event) override;

 private:
  DataOperations& operations_;
  PushReader& reader_;
  Fragment fragment_;
  const std::span<std::byte> room_;
  MdHandle md_;
  std::uint32_t wanted_ = kPingBytesMin;
  bool linked_ = false;
  bool growing_ = false;
  bool closed_ = false;
};

}  // namespace plnet::lnet

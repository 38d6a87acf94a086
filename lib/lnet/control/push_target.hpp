// SPDX-License-Identifier: BSD-3-Clause
// Where discovery pushes of others arrive: one descriptor for one push on portal 0, posted again
// after each. Portal 0 is lazy, so pushes that come in between wait. It begins with the least that
// any node must take and grows when a push or a reply showed that somebody has more to say.
// Checked against lustre-release lnet/lnet/api-ni.c: lnet_push_target_post(),
// lnet_push_target_resize(), lnet_push_target_event_handler().
#pragma once

#include <cstdint>
#include <span>

#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/control/ping_exchanges.hpp"

namespace plnet::lnet {

// Looks at the push inside the call.
class PushReader {
 public:
  virtual ~PushReader() = default;
  virtual void on_push(const Event& event, std::span<const std::byte> bytes) = 0;
};

class PushTarget final : public EventHandler {
 public:
  // `memory`: one slot.
  PushTarget(DataOperations& operations, PushReader& reader, PingMemory memory);

  // Pushes of so many bytes come whole from the next post on; what no buffer could hold is cut.
  void grow(std::uint32_t bytes);
  // Posts what is not posted. kNoMemory and the like: again with the next step.
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

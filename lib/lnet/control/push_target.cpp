// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/push_target.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

PushTarget::PushTarget(DataOperations& operations, PushReader& reader, PingMemory memory)
    : operations_(operations), reader_(reader), fragment_{memory.at, 0}, room_(memory.bytes) {
  PLNET_CHECK(room_.size() >= kPingSlotBytes, "a push has a slot");
}

void PushTarget::grow(std::uint32_t bytes) {
  wanted_ = std::max(wanted_, std::min(bytes, kPingSlotBytes));
}

Result<void> PushTarget::step() {
  if (closed_) return {};
  if (linked_) {
    if (fragment_.length < wanted_ && !growing_) {
      growing_ = true;
      (void)operations_.unlink(md_);  // posted again at its end
    }
    return {};
  }
  fragment_.length = wanted_;
  PLNET_CHECK(wanted_ <= room_.size(), "a push fits into its slot");
  linked_ = true;  // a waiting push may arrive inside the call
  const auto attached = operations_.attach({.portal = kPingPortal, .match_bits = kPingMatchBits},
                                           {.fragments = std::span(&fragment_, 1),
                                            .length = fragment_.length,
                                            .threshold = 1,
                                            .options = kMdPut | kMdTruncate,
                                            .user = this,
                                            .handler = this});
  if (!attached) {
    linked_ = false;
    return std::unexpected(attached.error());
  }
  md_ = attached->md;
  return {};
}

void PushTarget::close() {
  closed_ = true;
  if (linked_) (void)operations_.unlink(md_);
}

void PushTarget::on_event(const Event& event) {
  PLNET_CHECK(linked_ && event.user == this, "an event is that of the posted descriptor");
  if (event.kind == EventKind::kPut) {
    const std::size_t end = std::size_t{event.offset} + event.accepted_length;
    PLNET_CHECK(end <= fragment_.length, "a push stays within what was laid open");
    reader_.on_push(event, room_.subspan(event.offset, event.accepted_length));
  }
  if (event.unlinked) linked_ = growing_ = false;
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/ping_target.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/check.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

PingTarget::PingTarget(DataOperations& operations, PingMemory memory) : operations_(operations) {
  entries_.reserve(kNisMax);
  for (Buffer& buffer : buffers_) {
    const PingMemory slot = memory.split(1);
    buffer.fragment.at = slot.at;
    buffer.room = slot.bytes;
  }
}

std::span<const std::byte> PingTarget::bytes() const {
  return current_ == nullptr ? std::span<const std::byte>()
                             : current_->room.first(current_->fragment.length);
}

PingTarget::Buffer* PingTarget::free_buffer() {
  for (Buffer& buffer : buffers_) {
    if (!buffer.linked && &buffer != current_) return &buffer;
  }
  return nullptr;
}

Result<void> PingTarget::set_interfaces(std::span<const PingEntry> interfaces) {
  if (interfaces.size() >= kNisMax) return std::unexpected(Errc::kTooBig);
  entries_.assign(interfaces.begin(), interfaces.end());
  return build();
}

Result<void> PingTarget::build() {
  Buffer* fresh = free_buffer();
  if (fresh == nullptr) {
    put_off_ = true;
    counters_.add(PingTargetCounter::kPutOff);
    return {};
  }
  const auto length = build_ping({.routing = routing_,
                                  .discovery = discovery_,
                                  .sequence = sequence_ + 1,
                                  .interfaces = entries_},
                                 fresh->room);
  if (!length) return std::unexpected(length.error());
  fresh->fragment.length = static_cast<std::uint32_t>(*length);
  PLNET_CHECK(*length <= fresh->room.size(), "a ping buffer fits into its slot");
  // Both exist for a moment, so that every ping finds one.
  const auto attached = operations_.attach({.portal = kPingPortal, .match_bits = kPingMatchBits},
                                           {.fragments = std::span(&fresh->fragment, 1),
                                            .length = fresh->fragment.length,
                                            .options = kMdGet | kMdTruncate | kMdManageRemote,
                                            .user = fresh,
                                            .handler = this,
                                            .unlink_when_exhausted = false});
  if (!attached) {
    counters_.add(PingTargetCounter::kFailed);
    put_off_ = true;
    return std::unexpected(attached.error());
  }
  put_off_ = false;
  ++sequence_;
  counters_.add(PingTargetCounter::kBuilt);
  fresh->md = attached->md;
  fresh->linked = true;
  Buffer* old = current_;
  current_ = fresh;
  if (old != nullptr && old->linked) (void)operations_.unlink(old->md);
  return {};
}

void PingTarget::renew() {
  if (current_ != nullptr && !closed_) (void)build();  // step() tries again
}

void PingTarget::close() {
  closed_ = true;
  put_off_ = false;
  if (current_ != nullptr && current_->linked) (void)operations_.unlink(current_->md);
}

bool PingTarget::step() {
  return put_off_ && free_buffer() != nullptr && build().has_value();
}

bool PingTarget::set_status(const Nid& nid, std::uint32_t status) {
  const auto entry = std::ranges::find(entries_, nid, &PingEntry::nid);
  if (entry == entries_.end() || entry->status == status) return false;
  entry->status = status;
  if (current_ != nullptr)
    (void)set_ping_status(current_->room.first(current_->fragment.length), nid, status);
  counters_.add(PingTargetCounter::kStatus);
  return true;
}

bool PingTarget::set_feature(PingFeature feature, bool on) {
  if (current_ == nullptr) return true;
  PLNET_CHECK(current_->room.size() >= sizeof(PingInfoWire), "a ping buffer has its features");
  std::byte* at = current_->room.data() + offsetof(PingInfoWire, features);
  std::uint32_t features = 0;
  std::memcpy(&features, at, sizeof features);
  features = on ? features | feature : features & ~std::uint32_t{feature};
  std::memcpy(at, &features, sizeof features);
  return true;
}

bool PingTarget::set_routing(bool on) {
  if (routing_ == on) return false;
  routing_ = on;
  return set_feature(kPingRouteDisabled, !on);
}

bool PingTarget::set_discovery(bool on) {
  if (discovery_ == on) return false;
  discovery_ = on;
  return set_feature(kPingDiscovery, on);
}

void PingTarget::on_event(const Event& event) {
  PLNET_CHECK(event.user != nullptr, "the descriptor of a buffer names it");
  if (event.kind == EventKind::kGet && event.status) counters_.add(PingTargetCounter::kAnswered);
  if (event.unlinked) {
    auto& buffer = *static_cast<Buffer*>(event.user);
    PLNET_CHECK(buffer.linked, "the descriptor of a buffer ends once");
    buffer.linked = false;
  }
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// A wire on a link layer, without DPDK: the test forwards frames, and received frames wait in a
// ring of fixed size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "drivers/net/cassini/soft/wire.hpp"

namespace plnet::cassini::soft {

class LinkWire final : public Wire, private link::FramePort {
 public:
  using Put = std::function<void(std::span<const std::byte>)>;

  LinkWire(const link::LinkOptions& options, NicAddress own, link::Mac mac, Put put)
      : layer_(options, own, mac), put_(std::move(put)) {}

  [[nodiscard]] std::size_t packet_bytes_max() const override { return layer_.packet_bytes_max(); }
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress to) const override {
    return layer_.packet_bytes_max_to(to);
  }
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override {
    return layer_.send(to, header, payload);
  }
  unsigned poll(std::uint64_t now_ns, WireEvents& events) override {
    if (std::exchange(link_changed_, false)) {
      layer_.set_link(up_, now_ns);
      events.on_link(up_, layer_.address());
    }
    unsigned done = 0;
    for (; read_ != written_; ++read_, ++done) {
      const Slot& slot = ring_[read_ % kSlots];
      layer_.receive(std::span(slot.bytes).first(slot.length), now_ns, events);
    }
    return done + layer_.transmit(now_ns, *this);
  }
  [[nodiscard]] CounterView counters() const override { return layer_.stats().view(); }

  // A frame from the cable. It is lost if there is no room or if it exceeds this port's MTU.
  void hear(std::span<const std::byte> frame) {
    if (!up_ || written_ - read_ == kSlots ||
        frame.size() > link::kFrameHeaderBytes + layer_.packet_bytes_max())
      return;
    Slot& slot = ring_[written_++ % kSlots];
    std::ranges::copy(frame, slot.bytes.begin());
    slot.length = frame.size();
  }
  void set_link(bool up) {
    up_ = up;
    link_changed_ = true;
  }
  void set_address(NicAddress own) {
    layer_.set_address(own);
    link_changed_ = true;
  }
  [[nodiscard]] link::LinkLayer& layer() { return layer_; }

 private:
  static constexpr std::size_t kFrameMax = 9216;
  static constexpr std::size_t kSlots = 256;
  struct Slot {
    std::array<std::byte, kFrameMax> bytes{};
    std::size_t length = 0;
  };

  std::span<std::byte> begin_frame(std::size_t bytes) override {
    out_bytes_ = bytes;
    return std::span(out_).first(bytes);
  }
  void end_frame() override { put_(std::span(out_).first(out_bytes_)); }

  link::LinkLayer layer_;
  Put put_;
  std::unique_ptr<Slot[]> ring_ = std::make_unique<Slot[]>(kSlots);
  std::size_t read_ = 0;
  std::size_t written_ = 0;
  std::array<std::byte, kFrameMax> out_{};
  std::size_t out_bytes_ = 0;
  bool up_ = true;
  bool link_changed_ = true;
};

}  // namespace plnet::cassini::soft

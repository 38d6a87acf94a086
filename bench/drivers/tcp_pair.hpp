// SPDX-License-Identifier: BSD-3-Clause
// Two ends of a loopback connection as the driver's streams.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/tcp/bare_pair.hpp"
#include "drivers/net/tcp/device.hpp"

namespace plnet::bench {

// One end: receives messages of a small header, optionally with a payload.
class TcpEnd final : public socklnd::StreamEvents {
 public:
  explicit TcpEnd(std::size_t payload_bytes = 0,
                  unsigned hot_reads = drivers::TcpConfig{}.hot_reads)
      : payload_(payload_bytes) {
    device = *drivers::TcpDevice::open({.connections_max = 8, .hot_reads = hot_reads}, *this);
  }

  std::span<std::byte> destination(socklnd::StreamId /*stream*/) override {
    return std::span(payload_).last(payload_left_);
  }
  std::size_t on_bytes(socklnd::StreamId /*stream*/, std::size_t direct,
                       std::span<const std::byte> staged) override {
    payload_left_ -= direct;
    if (direct > 0 && payload_left_ == 0) end_message();
    for (std::span<const std::byte> rest = staged; !rest.empty();) {
      std::size_t& left = payload_left_ > 0 ? payload_left_ : header_left_;
      const std::size_t part = std::min(rest.size(), left);
      if (payload_left_ > 0)
        std::copy_n(rest.begin(), part, payload_.end() - static_cast<long>(payload_left_));
      const bool header = &left == &header_left_;
      left -= part;
      rest = rest.subspan(part);
      if (left > 0) continue;
      if (header) payload_left_ = payload_.size();
      if (!header || payload_.empty()) end_message();
    }
    return staged.size();
  }
  void on_writable(socklnd::StreamId /*stream*/) override { blocked = false; }
  void on_connected(socklnd::StreamId id, const socklnd::StreamAddresses& /*at*/) override {
    stream = id;
    open = true;
  }
  void on_accepted(socklnd::StreamId id, const socklnd::StreamAddresses& at) override {
    on_connected(id, at);
  }
  void on_closed(socklnd::StreamId /*id*/, Errc /*cause*/, std::uint64_t /*lost*/) override {
    open = false;
  }

  void poll() { (void)device->poll({}); }
  // Sends all of it, polling while the socket is full.
  void send(std::span<const std::span<const std::byte>> pieces) {
    std::vector<std::span<const std::byte>>& rest = rest_;
    rest.assign(pieces.begin(), pieces.end());
    for (std::span<std::span<const std::byte>> left = rest; !left.empty();) {
      std::size_t taken = device->write(stream, left);
      while (!left.empty() && taken >= left.front().size()) {
        taken -= left.front().size();
        left = left.subspan(1);
      }
      if (left.empty()) return;
      left.front() = left.front().subspan(taken);
      for (blocked = true; blocked && open;)
        poll();
      if (!open) return;
    }
  }
  [[nodiscard]] std::uint64_t count(drivers::TcpTable::Id id) const {
    return device->counters().value(static_cast<std::size_t>(id));
  }

  std::unique_ptr<drivers::TcpDevice> device;
  socklnd::StreamId stream;
  std::uint64_t messages = 0;
  std::function<void()> on_message;
  bool blocked = false;
  bool open = false;

 private:
  void end_message() {
    ++messages;
    header_left_ = kSmallBytes;
    if (on_message) on_message();
  }

  std::vector<std::byte> payload_;
  std::vector<std::span<const std::byte>> rest_;
  std::size_t header_left_ = kSmallBytes;
  std::size_t payload_left_ = 0;
};

// False if no port is free.
inline bool join(TcpEnd& near, TcpEnd& far) {
  for (std::uint16_t port = 21'000; port < 21'100; ++port) {
    if (!far.device->listen(loopback(port), 8, {})) continue;
    socklnd::ConnectRequest request;
    request.addresses.remote = loopback(port);
    request.privileged_port = false;
    if (!near.device->connect(request)) return false;
    for (unsigned turn = 0; turn < 1'000'000 && !(near.open && far.open); ++turn) {
      near.poll();
      far.poll();
    }
    far.device->stop_listening(loopback(port));
    return near.open && far.open;
  }
  return false;
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// Counts the events of many streams of one driver and reads all bytes.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "lib/socklnd/byte_stream.hpp"

namespace plnet::testrig {

struct StreamCounter final : socklnd::StreamEvents {
  std::span<std::byte> destination(socklnd::StreamId) override { return {}; }
  std::size_t on_bytes(socklnd::StreamId, std::size_t, std::span<const std::byte> staged) override {
    bytes += staged.size();
    return staged.size();
  }
  void on_writable(socklnd::StreamId) override { ++writable; }
  void on_connected(socklnd::StreamId id, const socklnd::StreamAddresses& at) override {
    ports.insert(at.local.port);
    last = id;
    ++connected;
  }
  void on_accepted(socklnd::StreamId id, const socklnd::StreamAddresses&) override {
    last = id;
    ++accepted;
  }
  void on_closed(socklnd::StreamId, Errc why, std::uint64_t lost) override {
    ++closed;
    cause = why;
    unacknowledged = lost;
  }
  std::set<std::uint16_t> ports;
  socklnd::StreamId last;
  unsigned connected = 0;
  unsigned accepted = 0;
  unsigned closed = 0;
  unsigned writable = 0;
  std::uint64_t bytes = 0;
  Errc cause = Errc::kInvalid;
  std::uint64_t unacknowledged = 0;
};

inline std::size_t write_some(socklnd::StreamDriver& driver, socklnd::StreamId id,
                              std::size_t count) {
  const std::vector<std::byte> bytes(count, std::byte{1});
  const std::array<std::span<const std::byte>, 1> pieces{bytes};
  return driver.write(id, pieces);
}

}  // namespace plnet::testrig

// SPDX-License-Identifier: BSD-3-Clause
// A capture file (pcap, Ethernet, IPv4) as the TCP streams that it holds, one for each direction.
// Only connections whose SYN is in it; the first byte of each is where the handshake ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace plnet::mocks {

struct CaptureEnd {
  std::uint32_t address = 0;  // IPv4, host order
  std::uint16_t port = 0;

  friend auto operator<=>(const CaptureEnd&, const CaptureEnd&) = default;
};

struct CapturedStream {
  // The packet that brought the bytes up to `end`, where it brought new ones.
  struct Arrival {
    std::size_t end = 0;
    std::size_t packet = 0;
  };

  CaptureEnd from;
  CaptureEnd to;
  std::vector<std::byte> bytes;
  std::vector<Arrival> arrivals;
  unsigned gaps = 0;

  // The packet that completed the first `end` bytes.
  [[nodiscard]] std::size_t packet_of(std::size_t end) const;
};

// Where the captures of kernels lie: beside the tree, or where PLNET_SHARED says.
[[nodiscard]] std::filesystem::path shared_capture(const char* name);
// Nothing if there is no such file. In the order of their SYNs.
[[nodiscard]] std::optional<std::vector<CapturedStream>> read_tcp_capture(
    const std::filesystem::path& file);

}  // namespace plnet::mocks

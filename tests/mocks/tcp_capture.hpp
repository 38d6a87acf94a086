// SPDX-License-Identifier: BSD-3-Clause
// Reads a capture file (pcap, Ethernet, IPv4) as its TCP streams, one for each direction. Only
// connections with a captured SYN; each stream begins after the handshake.
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
  // The packet that brought the bytes up to `end`, if some were new.
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

// The place of the kernels' captures: beside the tree, or in PLNET_SHARED.
[[nodiscard]] std::filesystem::path shared_capture(const char* name);
// Nothing if the file is missing. In the order of the SYNs.
[[nodiscard]] std::optional<std::vector<CapturedStream>> read_tcp_capture(
    const std::filesystem::path& file);

}  // namespace plnet::mocks

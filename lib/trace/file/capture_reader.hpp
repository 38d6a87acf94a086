// SPDX-License-Identifier: BSD-3-Clause
// Reads capture files, pcap and pcapng, of either byte order, from bytes that are handed in: a
// mapped file or a pipe's. Checked against draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/trace/file/packet.hpp"

namespace plnet::trace {

class CaptureReader {
 public:
  // of a block; no writer makes longer ones
  static constexpr std::size_t kPacketBytesMax = 64U << 20U;
  static constexpr std::size_t kInterfacesMax = 4096;

  enum class Step : std::uint8_t {
    kMore,    // the bytes end within a block or after the last one
    kPacket,  // packet() is there, and refers to the bytes
    kFailed,  // error() says why
  };
  // Drops what it has read from the span.
  [[nodiscard]] Step next(std::span<const std::byte>& bytes);

  [[nodiscard]] const Packet& packet() const { return packet_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  // Bytes read so far: the position of an error or of the end.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  enum class Format : std::uint8_t { kUnknown, kPcap, kPcapng, kBroken };
  struct Interface {
    LinkType link = LinkType::kEthernet;
    std::uint64_t units_per_second = 1'000'000;
    std::int64_t offset_s = 0;
    std::string name;
  };
  using Bytes = std::span<const std::byte>;

  [[nodiscard]] Step read_magic(Bytes& bytes);
  [[nodiscard]] Step next_pcap(Bytes& bytes);
  [[nodiscard]] Step next_block(Bytes& bytes);
  [[nodiscard]] Step on_block(std::uint32_t type, Bytes body);
  [[nodiscard]] Step on_section(Bytes body);
  [[nodiscard]] Step on_interface(Bytes body);
  [[nodiscard]] Step on_enhanced_packet(Bytes body);
  [[nodiscard]] Step on_simple_packet(Bytes body);
  [[nodiscard]] Step fail(std::string why);
  void take(Bytes& bytes, std::size_t count);
  template <class Number>
  [[nodiscard]] Number at(Bytes bytes, std::size_t offset) const;

  Format format_ = Format::kUnknown;
  bool swapped_ = false;
  std::uint64_t position_ = 0;
  std::vector<Interface> interfaces_;
  Packet packet_;
  std::string error_;
};

}  // namespace plnet::trace

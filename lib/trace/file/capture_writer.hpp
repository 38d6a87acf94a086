// SPDX-License-Identifier: BSD-3-Clause
// Records as a pcapng file that stock Wireshark decodes: one interface for each local NI; a packet
// is socklnd's frame, an LNet header with 64-bit NIDs, and the payload. Two kinds of packets:
// exported PDUs, which need no invented TCP state, and TCP segments for tools that know nothing
// else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/trace/record/record.hpp"

namespace plnet::trace {

enum class PacketStyle : std::uint8_t { kUpperPdu, kTcp };

class CaptureWriter {
 public:
  // First writes the section's header, which names `application`.
  CaptureWriter(PacketStyle style, std::string_view application);

  void add(const Record& record, const lnet::Nid& interface);

  // The bytes since the last call. A file that consists of whole such pieces is complete.
  [[nodiscard]] std::string take() { return std::exchange(out_, {}); }
  [[nodiscard]] std::size_t waiting_bytes() const { return out_.size(); }

 private:
  struct Segment {
    std::string bytes;
    std::uint64_t length = 0;  // on the wire
  };

  [[nodiscard]] std::uint32_t interface_number(const lnet::Nid& interface);
  void write_block(std::uint32_t type, std::string_view body);
  void write_packet(std::uint32_t interface, const RecordHeader& header, const Segment& packet);
  [[nodiscard]] Segment upper_pdu(const Record& record, std::string_view head) const;
  void write_segments(std::uint32_t interface, const Record& record, std::string_view head);

  const PacketStyle style_;
  std::string out_;
  std::vector<lnet::Nid> interfaces_;
  // By address and port of both ends.
  std::map<std::array<std::uint64_t, 2>, std::uint32_t> sequences_;
};

}  // namespace plnet::trace

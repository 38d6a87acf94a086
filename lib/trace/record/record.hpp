// SPDX-License-Identifier: BSD-3-Clause
// One message as seen by the tap: sender and receiver, time and direction, LNet header, and the
// beginning of its payload. The fixed part has 128 bytes: it is both the input of filter programs
// (filter/filter_input.hpp) and the head of a record in a ring.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::trace {

enum class Direction : std::uint8_t {
  kReceived,
  kSent,
  kDropped,
  kWaits,   // the message begins to wait: only in captures of states
  kWaited,  // its wait has ended; the payload of the record is the WaitedNs
};
using WaitedNs = std::uint64_t;

inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

// The tap and its readers run on one machine, so integers are in its byte order.
struct RecordHeader {
  std::uint64_t time_ns = 0;  // since the epoch
  std::array<std::byte, lnet::kTypeAreaBytes> type_area{};
  lnet::Nid source;
  lnet::Nid destination;
  lnet::Nid hop;  // the neighbour that the message came from or goes to
  std::uint32_t source_pid = 0;
  std::uint32_t destination_pid = 0;
  std::uint32_t payload_length = 0;  // as in the header: may be any value
  std::uint32_t captured = 0;        // bytes of the payload that follow
  Direction direction = Direction::kReceived;
  std::uint8_t type = 0;       // lnet::MessageType; 255: larger than a byte
  std::uint8_t cause = 0;      // for drops: lnet::Cause; for waits: lnet::Wait
  std::uint8_t interface = 0;  // number of the local NI in the capture's table
};
static_assert(sizeof(RecordHeader) == 128);
static_assert(offsetof(RecordHeader, type_area) == 8 && offsetof(RecordHeader, source) == 48);
static_assert(offsetof(RecordHeader, destination) == 68 && offsetof(RecordHeader, hop) == 88);
static_assert(offsetof(RecordHeader, source_pid) == 108);
static_assert(offsetof(RecordHeader, destination_pid) == 112);
static_assert(offsetof(RecordHeader, payload_length) == 116);
static_assert(offsetof(RecordHeader, captured) == 120);
static_assert(offsetof(RecordHeader, direction) == 124 && offsetof(RecordHeader, type) == 125);
static_assert(offsetof(RecordHeader, cause) == 126 && offsetof(RecordHeader, interface) == 127);

// The number of an NI in a record is a byte; LNet itself allows 200 interfaces.
// RecordHeader::type of messages whose type does not fit.
inline constexpr std::uint32_t kTypeBeyondByte = 255;
inline constexpr std::size_t kRecordInterfacesMax = 256;

// A record with its payload. The bytes belong to the reader's buffer or file.
struct Record {
  RecordHeader header;
  std::span<const std::byte> payload;  // `captured` bytes

  [[nodiscard]] bool is_wait() const { return header.direction >= Direction::kWaits; }
  [[nodiscard]] bool is(lnet::MessageType type) const {
    return header.type == static_cast<std::uint8_t>(type);
  }
  template <class Area>
  [[nodiscard]] Area area() const {
    static_assert(sizeof(Area) == lnet::kTypeAreaBytes);
    Area copy;
    std::memcpy(&copy, header.type_area.data(), sizeof copy);
    return copy;
  }

  // Fields that not every type of message has.
  [[nodiscard]] std::optional<std::uint32_t> portal() const;           // PUT, GET
  [[nodiscard]] std::optional<std::uint64_t> match_bits() const;       // PUT, GET, ACK
  [[nodiscard]] std::optional<std::uint32_t> offset() const;           // PUT, GET
  [[nodiscard]] std::optional<std::uint64_t> header_data() const;      // PUT
  [[nodiscard]] std::optional<std::uint32_t> sink_length() const;      // GET
  [[nodiscard]] std::optional<std::uint32_t> accepted_length() const;  // ACK
  // The handle that an ACK or REPLY answers, or that the reply to a PUT or GET will carry.
  [[nodiscard]] std::optional<lnet::WireHandle> handle() const;
};

// The part of a record that an LNet header fills in.
void set_header(const lnet::MessageHeader& header, RecordHeader& record);
[[nodiscard]] lnet::MessageHeader header_of(const RecordHeader& record);

}  // namespace plnet::trace

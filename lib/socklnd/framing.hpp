// SPDX-License-Identifier: BSD-3-Clause
// The messages of an established connection, from pieces of any size: frame, LNet header, decision,
// wanted payload, unwanted rest. lustre-release lnet/klnds/socklnd/socklnd_cb.c:
// ksocknal_process_receive(), ksocknal_new_packet().
//
// The user feeds bytes to next() until it returns kMore, and handles each other step. Large
// payloads are read straight to destination().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/lnet/api/payload_cursor.hpp"
#include "lib/lnet/wire/header.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

class Framing {
 public:
  enum class Step : std::uint8_t {
    kMore,         // all bytes are used up
    kNoop,         // a NOOP; acknowledges() may hold cookies
    kAcknowledge,  // a message whose frame acknowledges(): its own steps follow
    kHeader,       // header() is here: decide(), now or later
    kUndecided,    // waits for decide(); no bytes were used
    kWanted,       // the wanted payload is in place: request_cookie() may want an answer
    kFailed,       // failure() is the cause; the connection has to be closed
  };
  enum class Failure : std::uint8_t {
    kNone,
    kFrameType,
    kCookies,  // contradict each other
    kNoopChecksum,
    kPayloadChecksum,  // the message ends with an error, then the connection
  };

  Framing() = default;
  Framing(Protocol protocol, bool swapped) : protocol_(protocol), swapped_(swapped) {}

  // Uses a prefix of the bytes and drops it from the span.
  Step next(std::span<const std::byte>& bytes, const ArenaTable& arenas);

  // The place of the next bytes of the stream; empty if they have to go through next().
  [[nodiscard]] std::span<std::byte> destination(const ArenaTable& arenas) const;
  // So many bytes have been read to destination(). next() goes on with the bytes behind them.
  void took(std::size_t count, const ArenaTable& arenas);

  // The bytes that are missing of the wanted payload, if only its target needs them. 0: they have
  // to go through here.
  [[nodiscard]] std::uint32_t left_unseen() const {
    const bool plain = state_ == State::kPayload && slop_ == 0 && frame_.checksum == 0;
    return plain ? cursor_.left() : 0;
  }
  // So many of these have gone elsewhere. next() goes on when none is left.
  void passed_by(std::uint32_t count) {
    PLNET_CHECK(count <= left_unseen(), "no more bytes leave than are missing");
    cursor_.advance(count);
  }

  // After kHeader. The first `wanted` bytes of the payload go to `target`, the rest is dropped.
  void decide(const lnet::Payload& target, std::uint32_t wanted);

  [[nodiscard]] const lnet::MessageHeader& header() const { return header_; }
  [[nodiscard]] lnet::MessageHeader& header() { return header_; }
  [[nodiscard]] const ZeroCopyAck& acknowledges() const { return acknowledges_; }
  // The peer keeps the message until it gets this cookie back; 0: it needs no acknowledgement.
  [[nodiscard]] std::uint64_t request_cookie() const { return frame_.cookies[0]; }
  [[nodiscard]] Failure failure() const { return failure_; }

  // Between messages, where a stream may end in order.
  [[nodiscard]] bool at_boundary() const { return state_ == State::kFrame && have_ == 0; }
  [[nodiscard]] bool undecided() const { return state_ == State::kUndecided; }
  [[nodiscard]] bool failed() const { return failure_ != Failure::kNone; }

 private:
  enum class State : std::uint8_t { kFrame, kLnetHeader, kUndecided, kPayload, kSlop, kFailed };

  [[nodiscard]] const std::byte* collect(std::span<const std::byte>& bytes, std::size_t wanted);
  Step on_frame(std::span<const std::byte, kFrameBytes> raw);
  Step on_lnet_header(const std::byte* raw);
  Step on_payload(std::span<const std::byte>& bytes, const ArenaTable& arenas);
  void begin_checksum(std::span<const std::byte, kFrameBytes> raw);
  void skip(std::span<const std::byte>& bytes);
  Step fail(Failure failure);

  Protocol protocol_ = Protocol::kV3;
  bool swapped_ = false;
  State state_ = State::kFrame;
  Failure failure_ = Failure::kNone;
  std::uint8_t have_ = 0;  // bytes of a frame or of an LNet header
  std::uint32_t checksum_ = 0;
  std::uint32_t slop_ = 0;  // unwanted payload bytes
  Frame frame_;
  ZeroCopyAck acknowledges_;
  lnet::PayloadCursor cursor_;
  lnet::MessageHeader header_;
  std::array<std::byte, lnet::kHeaderNid16Bytes> partial_{};
};

}  // namespace plnet::socklnd

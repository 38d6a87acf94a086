// SPDX-License-Identifier: BSD-3-Clause
// What arrives on an established connection, as a stream cut anywhere: frame, LNet header,
// decision, the payload that is wanted, the rest that is not, and so on. lustre-release
// lnet/klnds/socklnd/socklnd_cb.c: ksocknal_process_receive(), ksocknal_new_packet().
//
// The user feeds it bytes by next() until that says kMore, and does at each step what it says.
// Large payloads go past it, straight to destination().
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
    kNoop,         // and whatever it acknowledges
    kAcknowledge,  // a message, not here yet, acknowledges(): followed by the message's own steps
    kHeader,       // header() is here: decide(), now or later
    kUndecided,    // still waits for decide(); nothing was used
    kWanted,       // the payload that was wanted is in place: request_cookie() may want an answer
    kFailed,       // failure() says why; the connection is beyond use
  };
  enum class Failure : std::uint8_t {
    kNone,
    kFrameType,
    kCookies,  // they contradict each other
    kNoopChecksum,
    kPayloadChecksum,  // the message ends with an error, then the connection
  };

  Framing() = default;
  Framing(Protocol protocol, bool swapped) : protocol_(protocol), swapped_(swapped) {}

  // Uses a prefix of the bytes and drops it from the span.
  Step next(std::span<const std::byte>& bytes, const ArenaTable& arenas);

  // Where the next bytes of the stream belong; empty if next() must look at them.
  [[nodiscard]] std::span<std::byte> destination(const ArenaTable& arenas) const;
  // So many bytes have been put there. next() goes on, with what came behind them or nothing.
  void took(std::size_t count, const ArenaTable& arenas);

  // Of the payload that is wanted: so many bytes are still to come, and nobody has to look at them
  // but who gets them. 0: they do have to go by here.
  [[nodiscard]] std::uint32_t left_unseen() const {
    const bool plain = state_ == State::kPayload && slop_ == 0 && frame_.checksum == 0;
    return plain ? cursor_.left() : 0;
  }
  // So many of these have gone elsewhere. next() goes on once none is left.
  void passed_by(std::uint32_t count) {
    PLNET_CHECK(count <= left_unseen(), "no more passes by than there is");
    cursor_.advance(count);
  }

  // After kHeader. The first `wanted` bytes of the payload go to `target`, the rest nowhere.
  void decide(const lnet::Payload& target, std::uint32_t wanted);

  [[nodiscard]] const lnet::MessageHeader& header() const { return header_; }
  [[nodiscard]] lnet::MessageHeader& header() { return header_; }
  [[nodiscard]] const ZeroCopyAck& acknowledges() const { return acknowledges_; }
  // The peer keeps the message until it gets this back; 0: it does not care.
  [[nodiscard]] std::uint64_t request_cookie() const { return frame_.cookies[0]; }
  [[nodiscard]] Failure failure() const { return failure_; }

  // Between messages: an orderly place for the stream to end.
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
  std::uint32_t slop_ = 0;  // payload bytes that nobody wants
  Frame frame_;
  ZeroCopyAck acknowledges_;
  lnet::PayloadCursor cursor_;
  lnet::MessageHeader header_;
  std::array<std::byte, lnet::kHeaderNid16Bytes> partial_{};
};

}  // namespace plnet::socklnd

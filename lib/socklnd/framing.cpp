// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/framing.hpp"

#include <algorithm>
#include <cstring>

#include "lib/socklnd/checksum.hpp"

namespace plnet::socklnd {

Framing::Step Framing::next(std::span<const std::byte>& bytes, const ArenaTable& arenas) {
  for (;;) {
    switch (state_) {
      case State::kFrame: {
        const std::byte* const raw = collect(bytes, kFrameBytes);
        if (raw == nullptr) return Step::kMore;
        const Step step = on_frame(std::span<const std::byte, kFrameBytes>(raw, kFrameBytes));
        if (step != Step::kMore) return step;
        break;
      }
      case State::kLnetHeader: {
        const std::byte* const raw = collect(bytes, lnet_header_bytes(protocol_));
        return raw == nullptr ? Step::kMore : on_lnet_header(raw);
      }
      case State::kUndecided: return Step::kUndecided;
      case State::kPayload: return on_payload(bytes, arenas);
      case State::kSlop:
        skip(bytes);
        if (slop_ > 0) return Step::kMore;
        state_ = State::kFrame;
        break;
      case State::kFailed: return Step::kFailed;
    }
  }
}

// So many bytes in one piece: where they were read, or collected in partial_. nullptr: some are
// missing.
const std::byte* Framing::collect(std::span<const std::byte>& bytes, std::size_t wanted) {
  PLNET_DEBUG_CHECK(wanted <= partial_.size() && have_ < wanted, "a header is collected once");
  if (have_ == 0 && bytes.size() >= wanted) {
    const std::byte* const raw = bytes.data();
    bytes = bytes.subspan(wanted);
    return raw;
  }
  const std::size_t count = std::min<std::size_t>(wanted - have_, bytes.size());
  if (count > 0) std::memcpy(partial_.data() + have_, bytes.data(), count);
  bytes = bytes.subspan(count);
  have_ = static_cast<std::uint8_t>(have_ + count);
  if (have_ < wanted) return nullptr;
  have_ = 0;
  return partial_.data();
}

// kMore: the LNet header follows.
Framing::Step Framing::on_frame(std::span<const std::byte, kFrameBytes> raw) {
  frame_ = decode_frame(raw, swapped_);
  if (frame_.type != kFrameNoop && frame_.type != kFrameLnet) return fail(Failure::kFrameType);
  if (frame_.checksum != 0) begin_checksum(raw);
  if (frame_.type == kFrameNoop && frame_.checksum != 0 && frame_.checksum != checksum_) {
    return fail(Failure::kNoopChecksum);
  }
  const auto acknowledges = acknowledgement_in(frame_, protocol_);
  if (!acknowledges) return fail(Failure::kCookies);
  acknowledges_ = *acknowledges;
  if (frame_.type == kFrameNoop) return Step::kNoop;
  state_ = State::kLnetHeader;
  const bool carries_one = acknowledges_.kind != ZeroCopyAck::Kind::kNothing;
  return carries_one ? Step::kAcknowledge : Step::kMore;
}

Framing::Step Framing::on_lnet_header(const std::byte* raw) {
  const std::span all(raw, lnet_header_bytes(protocol_));
  if (frame_.checksum != 0 && protocol_ == Protocol::kV2) {
    checksum_ = add_to_checksum(checksum_, all);
  }
  if (protocol_ == Protocol::kV4) {
    lnet::decode_header_nid16_into(all.first<lnet::kHeaderNid16Bytes>(), header_);
  } else {
    lnet::decode_header_nid4_into(all.first<lnet::kHeaderNid4Bytes>(), header_);
  }
  state_ = State::kUndecided;
  return Step::kHeader;
}

void Framing::decide(const lnet::Payload& target, std::uint32_t wanted) {
  PLNET_CHECK(state_ == State::kUndecided, "one decision for each header");
  PLNET_CHECK(wanted <= header_.payload_length, "no more is wanted than there is");
  cursor_ = lnet::PayloadCursor(target, wanted);
  slop_ = header_.payload_length - wanted;
  state_ = State::kPayload;
}

Framing::Step Framing::on_payload(std::span<const std::byte>& bytes, const ArenaTable& arenas) {
  while (cursor_.left() > 0 && !bytes.empty()) {
    const std::span<std::byte> to = destination(arenas);
    const std::size_t count = std::min(to.size(), bytes.size());
    std::memcpy(to.data(), bytes.data(), count);
    bytes = bytes.subspan(count);
    took(count, arenas);
  }
  if (cursor_.left() > 0) return Step::kMore;
  // A checksum over a part of the payload cannot be compared.
  if (frame_.checksum != 0 && slop_ == 0 && frame_.checksum != checksum_) {
    return fail(Failure::kPayloadChecksum);
  }
  // The end is reported at once: the next bytes may come much later.
  state_ = slop_ > 0 ? State::kSlop : State::kFrame;
  return Step::kWanted;
}

std::span<std::byte> Framing::destination(const ArenaTable& arenas) const {
  if (state_ != State::kPayload || cursor_.left() == 0) return {};
  return arenas.bytes(cursor_.piece());
}

void Framing::took(std::size_t count, const ArenaTable& arenas) {
  if (count == 0) return;
  PLNET_CHECK(state_ == State::kPayload, "only payload goes past the framing");
  PLNET_CHECK(count <= cursor_.left(), "a read ends within its destination");
  if (frame_.checksum != 0) {
    checksum_ = add_to_checksum(checksum_, arenas.bytes(cursor_.piece()).first(count));
  }
  cursor_.advance(static_cast<std::uint32_t>(count));
}

void Framing::skip(std::span<const std::byte>& bytes) {
  const auto count = std::min<std::size_t>(slop_, bytes.size());
  bytes = bytes.subspan(count);
  slop_ -= static_cast<std::uint32_t>(count);
}

// The sum covers the bytes as received, with zero in place of the checksum. From V3 on there is no
// checksum of the header: the kernel compares with the sum over the payload alone, and so do we
// (socklnd_lib.c: ksocknal_lib_recv_iov(), ksocknal_lib_recv_kiov()).
void Framing::begin_checksum(std::span<const std::byte, kFrameBytes> raw) {
  constexpr std::size_t kAt = offsetof(FrameWire, checksum);
  constexpr std::array<std::byte, sizeof(FrameWire::checksum)> kZero{};
  checksum_ = kChecksumStart;
  if (protocol_ != Protocol::kV2) return;
  checksum_ = add_to_checksum(checksum_, raw.first<kAt>());
  checksum_ = add_to_checksum(checksum_, kZero);
  checksum_ = add_to_checksum(checksum_, raw.subspan<kAt + kZero.size()>());
}

Framing::Step Framing::fail(Failure failure) {
  failure_ = failure;
  state_ = State::kFailed;
  return Step::kFailed;
}

}  // namespace plnet::socklnd

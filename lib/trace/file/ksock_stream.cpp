// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/ksock_stream.hpp"

#include <algorithm>

#include "lib/trace/decode/captured.hpp"

namespace plnet::trace {

namespace {

using socklnd::Protocol;

constexpr std::size_t kMagicBytes = 4;

bool is_plausible(const lnet::MessageHeader& header) {
  const auto known = [](const lnet::Nid& nid) {
    return nid.type > 0 && nid.type < 0x80 && nid.is_well_formed();
  };
  return header.type <= lnet::MessageType::kReply &&
         header.payload_length <= lnet::kPayloadBytesMax && known(header.source) &&
         known(header.destination);
}

}  // namespace

void KsockStream::on_begin() {
  peer_ = {};
  expect(State::kMagic);
}

void KsockStream::expect(State state) {
  state_ = state;
  pending_.clear();
}

void KsockStream::lose() {
  ++losses_;
  expect(State::kLost);
}

void KsockStream::on_bytes(Bytes bytes, std::uint64_t time_ns, bool at_segment) {
  if (state_ == State::kLost && (!at_segment || !begins_message(bytes))) return;
  while (step(bytes, time_ns)) {
  }
}

// Recognises a handshake or a message at the beginning of a segment.
bool KsockStream::begins_message(Bytes bytes) {
  if (bytes.size() < kMagicBytes) return false;
  const auto magic = socklnd::decode_magic(bytes.first<kMagicBytes>());
  if (magic.kind == socklnd::MagicKind::kAcceptor || magic.kind == socklnd::MagicKind::kHello) {
    expect(State::kMagic);
    return true;
  }
  const auto word = number_at<std::uint32_t>(bytes, 0, false).value_or(0);
  swapped_ =
      word == std::byteswap(socklnd::kFrameLnet) || word == std::byteswap(socklnd::kFrameNoop);
  const std::uint32_t type = in_order(word, swapped_);
  expect(State::kFrame);
  if (type == socklnd::kFrameNoop && bytes.size() >= socklnd::kFrameBytes) return true;
  if (type == socklnd::kFrameLnet && bytes.size() >= socklnd::kFrameBytes) {
    const Bytes rest = bytes.subspan(socklnd::kFrameBytes);
    if (const auto small = lnet::decode_header_nid4(rest); small && is_plausible(*small)) {
      protocol_ = Protocol::kV3;
      return true;
    }
    if (const auto large = lnet::decode_header_nid16(rest); large && is_plausible(*large)) {
      protocol_ = Protocol::kV4;
      return true;
    }
  }
  expect(State::kLost);
  return false;
}

// Collects bytes in pending_. Returns true when it has `wanted` of them.
bool KsockStream::collect(Bytes& bytes, std::size_t wanted) {
  const std::size_t count = std::min(wanted - std::min(wanted, pending_.size()), bytes.size());
  pending_.insert(pending_.end(), bytes.begin(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(count));
  bytes = bytes.subspan(count);
  return pending_.size() >= wanted;
}

// False: the bytes are used up.
bool KsockStream::step(Bytes& bytes, std::uint64_t time_ns) {
  switch (state_) {
    case State::kMagic:
      if (!collect(bytes, kMagicBytes)) return false;
      on_magic();
      return true;
    case State::kAcceptor: {
      if (!collect(bytes, socklnd::kAcceptorPrefixBytes)) return false;
      const std::span all(pending_);
      const auto wanted =
          socklnd::acceptor_request_bytes(all.first<socklnd::kAcceptorPrefixBytes>(), swapped_);
      if (!wanted) {
        lose();
        return false;
      }
      if (!collect(bytes, *wanted)) return false;
      expect(State::kMagic);
      return true;
    }
    case State::kHelloPrefix:
      if (!collect(bytes, socklnd::kHelloPrefixBytes)) return false;
      on_hello_prefix();
      return true;
    case State::kHello:
      if (!collect(bytes, socklnd::hello_bytes(protocol_))) return false;
      on_hello();
      return true;
    case State::kAddresses: {
      const std::size_t count = std::min(skip_, bytes.size());
      bytes = bytes.subspan(count);
      skip_ -= count;
      if (skip_ > 0) return false;
      expect(State::kFrame);
      return true;
    }
    case State::kFrame:
      if (pending_.empty()) time_ns_ = time_ns;
      if (!collect(bytes, socklnd::kFrameBytes)) return false;
      on_frame();
      return true;
    case State::kHeader:
      if (!collect(bytes, socklnd::lnet_header_bytes(protocol_))) return false;
      on_header();
      return true;
    case State::kPayload: on_payload(bytes); return state_ != State::kPayload;
    case State::kLost: return false;
  }
  return false;
}

void KsockStream::on_magic() {
  const auto magic = socklnd::decode_magic(std::span(pending_).first<kMagicBytes>());
  swapped_ = magic.swapped;
  if (magic.kind == socklnd::MagicKind::kAcceptor) {
    state_ = State::kAcceptor;
  } else if (magic.kind == socklnd::MagicKind::kHello) {
    state_ = State::kHelloPrefix;
  } else {
    lose();
  }
}

void KsockStream::on_hello_prefix() {
  const auto prefix =
      socklnd::decode_hello_prefix(std::span(pending_).first<socklnd::kHelloPrefixBytes>());
  if (!prefix.protocol || *prefix.protocol == Protocol::kV1) return lose();
  swapped_ = prefix.swapped;
  protocol_ = *prefix.protocol;
  state_ = State::kHello;
}

void KsockStream::on_hello() {
  const auto hello = socklnd::decode_hello(pending_);
  if (!hello) return lose();
  peer_ = hello->source;
  skip_ = protocol_ == Protocol::kV4 ? 0 : 4 * std::size_t{hello->addresses};
  if (hello->addresses > socklnd::kHelloAddressesMax) return lose();
  expect(State::kAddresses);
}

void KsockStream::on_frame() {
  const auto frame =
      socklnd::decode_frame(std::span(pending_).first<socklnd::kFrameBytes>(), swapped_);
  if (frame.type == socklnd::kFrameNoop) return expect(State::kFrame);
  if (frame.type != socklnd::kFrameLnet) return lose();
  expect(State::kHeader);
}

void KsockStream::on_header() {
  const auto header = protocol_ == Protocol::kV4 ? lnet::decode_header_nid16(pending_)
                                                 : lnet::decode_header_nid4(pending_);
  if (!header || header->payload_length > lnet::kPayloadBytesMax) return lose();
  header_ = *header;
  left_ = header->payload_length;
  holed_ = false;
  expect(State::kPayload);
  if (left_ == 0) emit();
}

void KsockStream::on_payload(Bytes& bytes) {
  const std::size_t count = std::min<std::size_t>(left_, bytes.size());
  const std::size_t room = holed_ ? 0 : snap_bytes_ - std::min(snap_bytes_, pending_.size());
  const Bytes kept = bytes.first(std::min(count, room));
  pending_.insert(pending_.end(), kept.begin(), kept.end());
  bytes = bytes.subspan(count);
  left_ -= count;
  if (left_ == 0) emit();
}

void KsockStream::on_hole(std::uint64_t bytes) {
  if (state_ == State::kLost) return;
  if (state_ == State::kPayload && bytes <= left_) {
    holed_ = true;
    left_ -= bytes;
    if (left_ == 0) emit();
    return;
  }
  if (state_ == State::kPayload) emit();
  lose();
}

void KsockStream::emit() {
  sink_.on_message({header_, pending_, time_ns_, peer_});
  expect(State::kFrame);
}

}  // namespace plnet::trace

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/request_reader.hpp"

namespace plnet::socklnd {

std::size_t RequestReader::take(std::span<const std::byte> bytes) {
  return buffer_.take(bytes, [this] { return reading(); }, [this] { advance(); });
}

void RequestReader::advance() {
  if (state_ == State::kMagic) {
    const Magic magic = decode_magic(buffer_.bytes().first<4>());
    swapped_ = magic.swapped;
    switch (magic.kind) {
      case MagicKind::kAcceptor:
        state_ = State::kVersion;
        buffer_.want(kAcceptorPrefixBytes);
        return;
      case MagicKind::kHello: state_ = State::kNoRequest; return;
      case MagicKind::kLegacy: state_ = State::kLegacy; return;
      case MagicKind::kUnknown: state_ = State::kUnknownMagic; return;
    }
  }
  if (state_ == State::kVersion) {
    const auto length =
        acceptor_request_bytes(buffer_.bytes().first<kAcceptorPrefixBytes>(), swapped_);
    state_ = length ? State::kNid : State::kUnknownVersion;
    if (length) buffer_.want(*length);
    return;
  }
  state_ = State::kDone;
}

lnet::Nid RequestReader::target() const {
  PLNET_CHECK(state_ == State::kDone, "the request is complete");
  return *decode_acceptor_request(buffer_.bytes());
}

}  // namespace plnet::socklnd

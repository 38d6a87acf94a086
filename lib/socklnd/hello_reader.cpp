// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/hello_reader.hpp"

#include <bit>
#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

std::size_t HelloReader::take(std::span<const std::byte> bytes) {
  return buffer_.take(bytes, [this] { return reading(); }, [this] { advance(); });
}

std::span<const std::uint32_t> HelloReader::addresses(
    std::span<std::uint32_t, kHelloAddressesMax> room) const {
  PLNET_CHECK(state_ == State::kDone, "a HELLO has been read");
  const auto list = buffer_.bytes().subspan(hello_bytes(hello_.protocol));
  PLNET_CHECK(list.size() % 4 == 0 && list.size() / 4 <= room.size(), "bounded when it was read");
  for (std::size_t i = 0; i < list.size() / 4; ++i) {
    std::memcpy(&room[i], list.data() + 4 * i, 4);
    if (prefix_.swapped) room[i] = std::byteswap(room[i]);
  }
  return room.first(list.size() / 4);
}

void HelloReader::advance() {
  switch (state_) {
    case State::kMagic: {
      const MagicKind kind = decode_magic(buffer_.bytes().first<4>()).kind;
      const bool known = kind == MagicKind::kHello || kind == MagicKind::kLegacy;
      state_ = known ? State::kVersion : State::kUnknownMagic;
      if (known) buffer_.want(kHelloPrefixBytes);
      return;
    }
    case State::kVersion: return on_prefix();
    case State::kRest: return on_rest();
    default: break;
  }
  const auto list = buffer_.bytes().last(std::size_t{4} * hello_.addresses);
  state_ = addresses_are_valid(list) ? State::kDone : State::kBadAddress;
}

void HelloReader::on_prefix() {
  prefix_ = decode_hello_prefix(buffer_.bytes().first<kHelloPrefixBytes>());
  if (!prefix_.protocol) {
    state_ = State::kUnknownVersion;
    return;
  }
  state_ = State::kRest;
  buffer_.want(hello_bytes(*prefix_.protocol));
}

void HelloReader::on_rest() {
  const auto hello = decode_hello(buffer_.bytes());
  PLNET_CHECK(hello.has_value(), "the bytes of a HELLO have been collected");
  hello_ = *hello;
  // V4 has a number and never a list; the kernel does not look at it.
  const std::uint32_t addresses = hello_.protocol == Protocol::kV4 ? 0 : hello_.addresses;
  if (hello_.protocol == Protocol::kV1 && !is_v1_hello(buffer_.bytes())) {
    state_ = State::kNotHello;
  } else if (addresses > kHelloAddressesMax) {
    state_ = State::kTooManyAddresses;
  } else if (addresses > 0) {
    state_ = State::kAddresses;
    buffer_.want(buffer_.bytes().size() + std::size_t{4} * addresses);
  } else {
    state_ = State::kDone;
  }
}

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/greeting.hpp"

#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

void Greeting::add_request(const lnet::Nid& peer) {
  PLNET_CHECK(length_ == 0, "the request goes first");
  length_ = static_cast<std::uint8_t>(
      encode_acceptor_request(peer, std::span(bytes_).first<kAcceptorV2Bytes>()));
}

void Greeting::add_hello(const Hello& hello) {
  PLNET_CHECK(sent_ == 0, "a greeting is complete before it is sent");
  std::array<std::byte, kHelloV4Bytes> out{};
  const auto length = encode_hello(hello, out);
  PLNET_CHECK(length.has_value(), "NIDs of a network fit into its protocol");
  PLNET_CHECK(length_ + *length <= bytes_.size(), "a greeting has one HELLO");
  std::memcpy(bytes_.data() + length_, out.data(), *length);
  length_ = static_cast<std::uint8_t>(length_ + *length);
}

}  // namespace plnet::socklnd

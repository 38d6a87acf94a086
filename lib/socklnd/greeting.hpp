// SPDX-License-Identifier: BSD-3-Clause
// The bytes that a connection sends before all messages: our HELLO, and before it, if we connect,
// the request to the peer's acceptor. Both go out in one write, since acceptors wait only a moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/check.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

class Greeting {
 public:
  // The first bytes: the interface of the peer that is asked for.
  void add_request(const lnet::Nid& peer);
  void add_hello(const Hello& hello);

  [[nodiscard]] bool done() const { return sent_ == length_; }
  [[nodiscard]] std::span<const std::byte> unsent() const {
    return std::span(bytes_).first(length_).subspan(sent_);
  }
  // TCP has taken so many of unsent().
  void on_sent(std::size_t count) {
    PLNET_CHECK(count <= unsent().size(), "TCP takes no more than it is given");
    sent_ = static_cast<std::uint8_t>(sent_ + count);
  }

 private:
  std::array<std::byte, kAcceptorV2Bytes + kHelloV4Bytes> bytes_{};
  std::uint8_t length_ = 0;
  std::uint8_t sent_ = 0;
};

}  // namespace plnet::socklnd

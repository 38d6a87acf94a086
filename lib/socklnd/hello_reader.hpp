// SPDX-License-Identifier: BSD-3-Clause
// Reads one HELLO from a stream that arrives in pieces of any size.
// lustre-release lnet/klnds/socklnd/socklnd_cb.c: ksocknal_recv_hello(); socklnd_proto.c:
// ksocknal_recv_hello_v1() and its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/socklnd/introduction_buffer.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

class HelloReader {
 public:
  enum class State : std::uint8_t {
    kMagic,  // these four wait for bytes; each is a read of its own with a time limit of its own
    kVersion,
    kRest,
    kAddresses,
    kDone,
    kUnknownMagic,
    kUnknownVersion,  // the only error that is answered
    kTooManyAddresses,
    kBadAddress,
    kNotHello,  // V1: a message of another type
  };

  // Takes the bytes of the HELLO and returns their number: 0 once it has ended.
  std::size_t take(std::span<const std::byte> bytes);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool reading() const { return state_ <= State::kAddresses; }
  [[nodiscard]] bool empty() const { return buffer_.empty(); }
  // Only in state kDone.
  [[nodiscard]] const Hello& hello() const {
    PLNET_CHECK(state_ == State::kDone, "the HELLO is complete");
    return hello_;
  }
  // Only in state kDone: the IPv4 addresses behind it, in its order. Returns the filled part of
  // `room`.
  [[nodiscard]] std::span<const std::uint32_t> addresses(
      std::span<std::uint32_t, kHelloAddressesMax> room) const;
  // The byte order of the sender, and of its frames, is not ours.
  [[nodiscard]] bool swapped() const { return prefix_.swapped; }

 private:
  void advance();
  void on_prefix();
  void on_rest();

  IntroductionBuffer<kHelloV1Bytes + std::size_t{4} * kHelloAddressesMax> buffer_{4};
  HelloPrefix prefix_;
  Hello hello_;
  State state_ = State::kMagic;
};

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
// Reads the acceptor's request from a stream that arrives in pieces of any size.
// lustre-release lnet/lnet/acceptor.c: lnet_acceptor(), lnet_accept().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/socklnd/introduction_buffer.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::socklnd {

class RequestReader {
 public:
  enum class State : std::uint8_t {
    kMagic,    // these three wait for bytes; each is a read of its own with a time limit of its own
    kVersion,  //
    kNid,      //
    kDone,
    kNoRequest,       // begins with a HELLO: answer, then close
    kUnknownVersion,  // answer, then close
    kLegacy,          // close without an answer
    kUnknownMagic,    // close without an answer
  };

  // Takes the bytes of the request and returns their number: 0 once it has ended.
  std::size_t take(std::span<const std::byte> bytes);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool reading() const { return state_ <= State::kNid; }
  [[nodiscard]] bool empty() const { return buffer_.empty(); }
  // Only in state kDone.
  [[nodiscard]] lnet::Nid target() const;

 private:
  void advance();

  IntroductionBuffer<kAcceptorV2Bytes> buffer_{4};
  State state_ = State::kMagic;
  bool swapped_ = false;
};

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
// LNet messages in one direction of a socklnd connection, as captured: acceptor request and HELLO
// if present, then messages of V2, V3 or V4. After missing bytes it continues at the next segment
// that begins with a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/lnet/wire/header.hpp"
#include "lib/socklnd/wire.hpp"
#include "lib/trace/file/tcp_stream.hpp"

namespace plnet::trace {

struct FramedMessage {
  lnet::MessageHeader header;
  std::span<const std::byte> payload;  // captured
  std::uint64_t time_ns = 0;           // of its first byte
  lnet::Nid hop;                       // the sender as named in its HELLO; of type 0: no HELLO
};

class FramedSink {
 public:
  virtual ~FramedSink() = default;
  virtual void on_message(const FramedMessage& message) = 0;
};

class KsockStream : public StreamSink {
 public:
  KsockStream(FramedSink& sink, std::size_t snap_bytes) : sink_(sink), snap_bytes_(snap_bytes) {}

  void on_bytes(std::span<const std::byte> bytes, std::uint64_t time_ns, bool at_segment) override;
  void on_hole(std::uint64_t bytes) override;
  void on_begin() override;
  // Number of searches for the next message.
  [[nodiscard]] std::uint64_t losses() const { return losses_; }

 private:
  enum class State : std::uint8_t {
    kMagic,
    kAcceptor,
    kHelloPrefix,
    kHello,
    kAddresses,
    kFrame,
    kHeader,
    kPayload,
    kLost,
  };
  using Bytes = std::span<const std::byte>;

  [[nodiscard]] bool step(Bytes& bytes, std::uint64_t time_ns);
  [[nodiscard]] bool collect(Bytes& bytes, std::size_t wanted);
  void on_magic();
  void on_hello_prefix();
  void on_hello();
  void on_frame();
  void on_header();
  void on_payload(Bytes& bytes);
  void emit();
  [[nodiscard]] bool begins_message(Bytes bytes);
  void expect(State state);
  void lose();

  FramedSink& sink_;
  const std::size_t snap_bytes_;
  State state_ = State::kLost;  // a capture may begin anywhere
  socklnd::Protocol protocol_ = socklnd::Protocol::kV3;
  bool swapped_ = false;
  std::vector<std::byte> pending_;
  std::size_t skip_ = 0;    // the list of addresses
  std::uint64_t left_ = 0;  // of the payload
  bool holed_ = false;
  std::uint64_t time_ns_ = 0;
  std::uint64_t losses_ = 0;
  lnet::MessageHeader header_;
  lnet::Nid peer_;
};

}  // namespace plnet::trace

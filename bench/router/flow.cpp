// SPDX-License-Identifier: BSD-3-Clause
#include "bench/router/flow.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include <sys/socket.h>

#include "bench/tcp/bare_pair.hpp"
#include "bench/tcp/node.hpp"
#include "lib/lnet/wire/header_codec.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::bench {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kPatienceTurns = 10'000'000;  // some seconds

std::vector<std::byte> message_of(const FlowEnds& ends, std::uint32_t payload_bytes) {
  constexpr std::size_t kHeadBytes = socklnd::kFrameBytes + lnet::kHeaderNid4Bytes;
  std::vector<std::byte> out(kHeadBytes + payload_bytes, std::byte{1});
  lnet::MessageHeader header;
  header.destination = ends.to;
  header.source = ends.from;
  header.type = lnet::MessageType::kPut;
  header.payload_length = payload_bytes;
  header.set_area(lnet::PutArea{.portal = TcpNode::kPortal});
  const std::span bytes(out);
  socklnd::encode_frame({.type = socklnd::kFrameLnet}, bytes.first<socklnd::kFrameBytes>());
  const auto encoded = lnet::encode_header_nid4(
      header, bytes.subspan<socklnd::kFrameBytes, lnet::kHeaderNid4Bytes>());
  PLNET_CHECK(encoded.has_value(), "IPv4 NIDs fit");
  return out;
}

bool is_over(ssize_t moved) {
  return moved == 0 || (moved < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace

Flow::Flow(FlowEnds ends, std::uint32_t payload_bytes, std::size_t together)
    : ends_(std::move(ends)),
      message_(message_of(ends_, payload_bytes)),
      together_(together),
      received_(std::max(kReadBytes, message_.size())) {
  pieces_.reserve(together_);
}

std::size_t Flow::gather(std::uint64_t limit_bytes) {
  pieces_.clear();
  std::size_t offered = 0;
  while (pieces_.size() < together_ && sent_bytes_ + offered < limit_bytes) {
    const auto rest = std::span(message_).subspan((sent_bytes_ + offered) % wire_bytes());
    pieces_.push_back({rest.data(), rest.size()});
    offered += rest.size();
  }
  return offered;
}

void Flow::send(std::uint64_t limit) {
  while (const std::size_t offered = gather(limit * wire_bytes())) {
    msghdr burst{};
    burst.msg_iov = pieces_.data();
    burst.msg_iovlen = pieces_.size();
    const ssize_t sent = ::sendmsg(ends_.source.get(), &burst, MSG_NOSIGNAL);
    if (sent <= 0) {
      broken_ = broken_ || is_over(sent);
      return;
    }
    sent_bytes_ += static_cast<std::uint64_t>(sent);
    if (static_cast<std::size_t>(sent) < offered) return;
  }
}

void Flow::receive(std::size_t bytes_max) {
  const ssize_t got =
      ::recv(ends_.sink.get(), received_.data(), std::min(bytes_max, received_.size()), 0);
  if (got > 0) {
    arrived_bytes_ += static_cast<std::uint64_t>(got);
    idle_turns_ = 0;
  }
  const bool stuck = !settled() && ++idle_turns_ > kPatienceTurns;
  broken_ = broken_ || stuck || is_over(got);
}

SocketPair connect_pair() {
  BarePair pair;
  return {std::move(pair.near), std::move(pair.far)};
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
// A raw byte peer of a site's node, and the bytes that open a connection.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "tests/unit/lib/socklnd/tcp_site.hpp"

namespace plnet::socklnd {

using Bytes = std::vector<std::byte>;

// One connection of the host that a site keeps free; it records received bytes.
class Stranger final : public StreamEvents {
 public:
  Stranger(TcpSite& site, unsigned host, bool privileged = true,
           const SocketAddress& to = socklnd::address_of(0))
      : site_(site),
        shard_(site.cluster.network, site.cluster.shards[host]->host(), {}, 1, ++made_) {
    driver_ = std::make_unique<drivers::SimStreamDriver>(site.fabric, shard_.host(), *this, shard_);
    shard_.add(*driver_);
    ConnectRequest request;
    request.addresses.remote = to;
    request.privileged_port = privileged;
    stream_ = driver_->connect(request).value();
    site_.run([this] { return open || closed; }, std::chrono::seconds(1));
  }
  void say(std::span<const std::byte> bytes) {
    const std::array<std::span<const std::byte>, 1> piece{bytes};
    EXPECT_EQ(driver_->write(stream_, piece), bytes.size());
  }
  void leave() { driver_->close(stream_, Errc::kShutdown); }
  // Runs until the other side has closed the connection.
  [[nodiscard]] bool is_closed_within(Duration time) {
    return site_.run([this] { return closed; }, time);
  }

  std::span<std::byte> destination(StreamId) override { return {}; }
  std::size_t on_bytes(StreamId, std::size_t, std::span<const std::byte> staged) override {
    heard.insert(heard.end(), staged.begin(), staged.end());
    return staged.size();
  }
  void on_writable(StreamId) override {}
  void on_connected(StreamId, const StreamAddresses&) override { open = true; }
  void on_accepted(StreamId, const StreamAddresses&) override {}
  void on_closed(StreamId, Errc, std::uint64_t) override { closed = true; }

  Bytes heard;
  bool open = false;
  bool closed = false;

 private:
  TcpSite& site_;
  static inline std::uint64_t made_ = 5000;  // numbers of shards
  SimShard shard_;
  std::unique_ptr<drivers::SimStreamDriver> driver_;
  StreamId stream_;
};

inline Bytes request_to(const lnet::Nid& nid) {
  std::array<std::byte, kAcceptorV2Bytes> out{};
  const std::size_t length = encode_acceptor_request(nid, out);
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length)};
}

inline Bytes bytes_of(const Hello& hello) {
  std::array<std::byte, kHelloV4Bytes> out{};
  const std::size_t length = encode_hello(hello, out).value();
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length)};
}

inline Bytes hello_from(unsigned node, ConnectionType type, std::uint64_t incarnation = 7,
                        Protocol protocol = Protocol::kV3) {
  Hello hello{.protocol = protocol,
              .source = nid_of(node),
              .destination = nid_of(0),
              .source_incarnation = incarnation};
  hello.type = static_cast<std::int32_t>(type);
  return bytes_of(hello);
}

inline Bytes both(const Bytes& first, const Bytes& second) {
  Bytes all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

}  // namespace plnet::socklnd

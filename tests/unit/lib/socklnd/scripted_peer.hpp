// SPDX-License-Identifier: BSD-3-Clause
// A peer of a site's node that answers HELLOs as a case wants: other versions, types or
// incarnations. It keeps reading accepted connections.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lib/socklnd/request_reader.hpp"
#include "tests/unit/lib/socklnd/framed_stream.hpp"
#include "tests/unit/lib/socklnd/tcp_site.hpp"

namespace plnet::socklnd {

class ScriptedPeer final : public StreamEvents {
 public:
  // The answer; of type kNone: the connection is closed after it.
  using Answer = std::function<Hello(const Hello& theirs)>;

  // Replaces a node that was removed from the site.
  ScriptedPeer(TcpSite& site, unsigned host, Answer answer)
      : shard_(site.cluster.network, site.cluster.shards[host]->host(), {}, 1, 7000 + host),
        nid_(nid_of(host)),
        answer_(std::move(answer)) {
    driver_ = std::make_unique<drivers::SimStreamDriver>(site.fabric, shard_.host(), *this, shard_);
    shard_.add(*driver_);
    PLNET_CHECK(driver_->listen(address_of(host), 8, {}).has_value(), "nobody else listens");
  }

  // The accepting reply of a kernel.
  [[nodiscard]] Hello accepting(const Hello& theirs, Protocol protocol) const {
    Hello hello{.protocol = protocol, .source = nid_, .destination = theirs.source};
    hello.source_incarnation = incarnation;
    hello.type = static_cast<std::int32_t>(inverted(theirs.type).value());
    return hello;
  }
  [[nodiscard]] Hello refusing(const Hello& theirs, Protocol protocol) const {
    Hello hello = accepting(theirs, protocol);
    hello.type = static_cast<std::int32_t>(ConnectionType::kNone);
    return hello;
  }
  // The messages of all accepted connections.
  [[nodiscard]] std::vector<FramedMessage> messages() const {
    std::vector<FramedMessage> all;
    for (const auto& link : links_) {
      if (link->framed) {
        all.insert(all.end(), link->framed->messages.begin(), link->framed->messages.end());
      }
    }
    return all;
  }
  [[nodiscard]] unsigned noops() const {
    unsigned count = 0;
    for (const auto& link : links_)
      count += link->framed ? link->framed->noops : 0;
    return count;
  }
  [[nodiscard]] bool understood_all() const {
    return std::ranges::all_of(links_, [](const auto& link) {
      return !link->framed || !link->framed->framing().failed();
    });
  }

  std::span<std::byte> destination(StreamId) override { return {}; }
  std::size_t on_bytes(StreamId stream, std::size_t, std::span<const std::byte> staged) override {
    const auto at = std::ranges::find_if(links_, [&](auto& l) { return l->stream == stream; });
    Link& link = **at;
    std::size_t used = link.request.take(staged);
    if (!link.framed && !link.refused) {
      used += link.hello.take(staged.subspan(used));
      if (link.hello.state() == HelloReader::State::kDone) answer(link);
    }
    if (link.framed) link.framed->feed(staged.subspan(used), false);
    return staged.size();
  }
  void on_writable(StreamId) override {}
  void on_connected(StreamId, const StreamAddresses&) override {}
  void on_accepted(StreamId stream, const StreamAddresses&) override {
    links_.push_back(std::make_unique<Link>());
    links_.back()->stream = stream;
  }
  void on_closed(StreamId, Errc, std::uint64_t) override { ++closed; }

  std::uint64_t incarnation = 77;
  std::vector<Hello> hellos;  // all received ones
  unsigned closed = 0;

 private:
  struct Link {
    StreamId stream;
    RequestReader request;
    HelloReader hello;
    bool refused = false;
    std::unique_ptr<FramedStream> framed;
  };

  void answer(Link& link) {
    hellos.push_back(link.hello.hello());
    const Hello reply = answer_(link.hello.hello());
    std::array<std::byte, kHelloV4Bytes> out{};
    const std::size_t length = encode_hello(reply, out).value();
    const std::array<std::span<const std::byte>, 1> piece{std::span(out).first(length)};
    PLNET_CHECK(driver_->write(link.stream, piece) == length, "nothing was written before");
    link.refused = reply.type == static_cast<std::int32_t>(ConnectionType::kNone);
    if (link.refused) return driver_->close(link.stream, Errc::kBusy);
    link.framed = std::make_unique<FramedStream>(reply.protocol, false, 1);
  }

  SimShard shard_;
  std::unique_ptr<drivers::SimStreamDriver> driver_;
  const lnet::Nid nid_;
  Answer answer_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
// A stream driver under the control of a test, and one LND on it: it records written bytes and
// options, limits writes to a number of bytes, and delivers bytes when the test wants. With
// `relays` it also supports await(), relay() and fetch(): bytes stay in their stream until they are
// read.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/socklnd/lnd.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::socklnd {

using lnet::vectors::Bytes;

class ScriptedStreams final : public StreamDriver {
 public:
  struct Stream {
    ConnectRequest request;
    StreamOptions options;
    Bytes written;
    std::size_t room = SIZE_MAX;  // for the next writes
    bool paused = false;
    bool closing = false;
    bool ended = false;
    Errc cause = Errc::kClosed;
    unsigned acknowledged_now = 0;
    StreamProgress progress{};
    // Used with `relays`.
    Bytes inbox;  // arrived and not read
    std::size_t awaited = 0;
    std::size_t next_read_max = 0;
    bool holding = false;
    std::optional<Errc> broken;  // the network ended it; reported when allowed
  };

  explicit ScriptedStreams(StreamEvents& events) : events_(events) {}

  [[nodiscard]] Stream& at(std::uint32_t index) { return streams[index]; }
  static StreamId id(std::uint32_t index) { return {index, 1}; }
  void give_room(std::uint32_t index, std::size_t bytes) {
    streams[index].room = bytes;
    events_.on_writable(id(index));
  }
  // Delivers through the staging buffer while the stream is read.
  std::size_t say(std::uint32_t index, std::span<const std::byte> bytes) {
    return events_.on_bytes(id(index), 0, bytes);
  }
  void connected(std::uint32_t index) { events_.on_connected(id(index), {}); }
  // Ends the stream like the network or the peer.
  void end(std::uint32_t index, Errc cause) {
    if (std::exchange(streams[index].ended, true)) return;
    streams[index].closing = false;
    events_.on_closed(id(index), cause, 0);
  }
  // Reports closed streams like poll().
  void report_closed() {
    for (std::uint32_t i = 0; i < streams.size(); ++i) {
      if (streams[i].closing) end(i, streams[i].cause);
    }
  }

  // Bytes arrive and are read as far as they are wanted now.
  void bring(std::uint32_t index, std::span<const std::byte> bytes) {
    Bytes& inbox = streams[index].inbox;
    inbox.insert(inbox.end(), bytes.begin(), bytes.end());
    serve(index);
  }
  // Serves all streams like a poll.
  void serve_all() {
    for (std::uint32_t i = 0; i < streams.size(); ++i)
      serve(i);
    report_closed();
  }
  // The system stops waiting for the awaited bytes.
  void lose_patience(std::uint32_t index) {
    streams[index].awaited = 0;
    serve(index);
  }
  void tell_awaited(std::uint32_t index) { events_.on_awaited(id(index)); }

  bool await(StreamId stream, std::size_t bytes) override {
    if (!relays) return false;
    ++awaits;
    streams[stream.index].awaited = bytes;
    return true;
  }
  std::size_t relay(StreamId from, StreamId to, std::span<const std::span<const std::byte>> head,
                    std::size_t bytes) override {
    Stream& source = streams[from.index];
    EXPECT_TRUE(source.holding && source.inbox.size() >= bytes);
    std::size_t head_bytes = 0;
    for (const auto piece : head)
      head_bytes += piece.size();
    const std::size_t taken = write(to, head);
    if (taken < head_bytes) return taken;
    const Bytes rest(source.inbox.begin(), at_of(source.inbox, bytes));
    const std::array<std::span<const std::byte>, 1> piece{rest};
    const std::size_t moved = write(to, piece);
    source.inbox.erase(source.inbox.begin(), at_of(source.inbox, moved));
    return taken + moved;
  }
  Result<void> fetch(StreamId stream, std::span<std::byte> target) override {
    Stream& from = streams[stream.index];
    EXPECT_TRUE(from.holding && from.inbox.size() >= target.size());
    if (fails_to_fetch) return std::unexpected(Errc::kNotPermitted);
    std::copy_n(from.inbox.begin(), target.size(), target.begin());
    from.inbox.erase(from.inbox.begin(), at_of(from.inbox, target.size()));
    return {};
  }
  void limit_next_read(StreamId stream, std::size_t bytes) override {
    streams[stream.index].next_read_max = bytes;
  }

  std::size_t write(StreamId stream, std::span<const std::span<const std::byte>> pieces) override {
    Stream& to = streams[stream.index];
    std::size_t taken = 0;
    for (const auto piece : pieces) {
      const std::size_t count = std::min(piece.size(), to.room);
      if (!keep_nothing) {
        to.written.insert(to.written.end(), piece.begin(),
                          piece.begin() + static_cast<std::ptrdiff_t>(count));
      }
      if (to.room != SIZE_MAX) to.room -= count;
      taken += count;
      if (count < piece.size()) break;
    }
    return taken;
  }
  void pause_reading(StreamId stream) override { streams[stream.index].paused = true; }
  void resume_reading(StreamId stream) override {
    streams[stream.index].paused = streams[stream.index].holding = false;
  }
  void acknowledge_now(StreamId stream) override { ++streams[stream.index].acknowledged_now; }
  Result<StreamId> connect(const ConnectRequest& request) override {
    ++connects;
    if (refuse_connect) return std::unexpected(*refuse_connect);
    streams.push_back({.request = request, .options = request.options});
    return id(static_cast<std::uint32_t>(streams.size() - 1));
  }
  Result<void> listen(const SocketAddress&, unsigned, const StreamOptions&) override { return {}; }
  void stop_listening(const SocketAddress&) override {}
  void close(StreamId stream, Errc cause) override {
    streams[stream.index].closing = true;
    streams[stream.index].cause = cause;
  }
  Result<DetachedStream> detach(StreamId stream) override {
    if (!detaches) return std::unexpected(Errc::kNotSupported);
    streams[stream.index].ended = true;
    return DetachedStream{.descriptor = static_cast<std::intptr_t>(stream.index)};
  }
  Result<StreamId> adopt(const DetachedStream& detached, const StreamOptions& options) override {
    if (refuse_adopt) return std::unexpected(*refuse_adopt);
    streams.push_back({.request = {}, .options = options});
    if (detaches) {
      const auto from = static_cast<std::size_t>(detached.descriptor);
      streams.back().inbox = std::move(streams[from].inbox);
      streams.back().room = streams[from].room;
    }
    return id(static_cast<std::uint32_t>(streams.size() - 1));
  }
  void discard(const DetachedStream&) override { ++discarded; }
  bool is_local(const SocketAddress&) const override { return local; }
  StreamFacts facts(StreamId) const override { return {}; }
  StreamProgress progress(StreamId stream) const override { return streams[stream.index].progress; }
  CounterView counters() const override { return {}; }

  std::vector<Stream> streams;
  std::optional<Errc> refuse_adopt;
  std::optional<Errc> refuse_connect;
  unsigned connects = 0;
  unsigned discarded = 0;
  bool local = true;
  bool keep_nothing = false;
  bool relays = false;
  bool fails_to_fetch = false;
  bool detaches = false;  // arrived bytes move along
  unsigned awaits = 0;
  std::size_t read_bytes_max = SIZE_MAX;  // by one read, of bytes from bring()

 private:
  static Bytes::iterator at_of(Bytes& bytes, std::size_t at) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(at);
  }
  void serve(std::uint32_t index) {
    while (can_go_on(index)) {
      if (streams[index].awaited == 0) {
        read_once(index);
      } else if (streams[index].inbox.size() < streams[index].awaited) {
        return;
      } else {
        streams[index].awaited = 0;
        streams[index].holding = true;
        events_.on_awaited(id(index));
        streams[index].holding &= streams[index].paused;
      }
    }
    const Stream& stream = streams[index];
    if (stream.broken && !stream.holding && (stream.paused || stream.inbox.empty()))
      end(index, *stream.broken);
  }
  [[nodiscard]] bool can_go_on(std::uint32_t index) const {
    const Stream& stream = streams[index];
    return !stream.paused && !stream.closing && !stream.ended && !stream.inbox.empty();
  }
  void read_once(std::uint32_t index) {
    Bytes& inbox = streams[index].inbox;
    const std::span<std::byte> to = events_.destination(id(index));
    const std::size_t count = std::min(inbox.size(), read_bytes_max);
    const std::size_t direct = std::min(to.size(), count);
    std::copy_n(inbox.begin(), direct, to.begin());
    const Bytes staged(at_of(inbox, direct), at_of(inbox, count));
    inbox.erase(inbox.begin(), at_of(inbox, count));
    const std::size_t used = events_.on_bytes(id(index), direct, staged);
    Bytes& left_in = streams[index].inbox;
    EXPECT_TRUE(used == staged.size() || streams[index].awaited == 0) << "it is not in the socket";
    left_in.insert(left_in.begin(), staged.begin() + static_cast<std::ptrdiff_t>(used),
                   staged.end());
  }

  StreamEvents& events_;
};

// As in SockLndConfig.
struct LndPatience {
  Duration down_grace{};
  Duration silence_max{};
  std::uint32_t payload_rate_min = 0;
};

// One LND. `peer` has connected to it with a stream for each requested type.
class ScriptedLnd {
 public:
  static constexpr std::uint64_t kCoreBytes = 1U << 16U;

  explicit ScriptedLnd(const Tunables& tunables, Protocol the_protocol = Protocol::kV3,
                       unsigned drop_percent = 100, LaneEnd* lanes = nullptr,
                       const LndPatience& patience = {})
      : protocol(the_protocol), bytes_(kCoreBytes), switch_(64), driver(switch_) {
    PLNET_CHECK(arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).has_value(), "room");
    switch_.set_driver(driver);
    core = std::make_unique<mocks::FakeCore>(mocks::FakeCoreConfig{.nid = ours,
                                                                   .arenas = &arenas_,
                                                                   .memory = {0, 0},
                                                                   .memory_bytes = kCoreBytes,
                                                                   .drop_percent = drop_percent,
                                                                   .payload_max = 10'000,
                                                                   .check_bytes = false});
    SockLndConfig config{.nid = ours,
                         .arenas = &arenas_,
                         .tunables = tunables,
                         .lanes = lanes,
                         .peers_max = 4,
                         .connections_max = 16,
                         .down_grace = patience.down_grace,
                         .silence_max = patience.silence_max,
                         .payload_rate_min = patience.payload_rate_min};
    config.start = now;
    lnd = std::make_unique<SockLnd>(config, *core, switch_);
    core->attach(*lnd);
  }
  // Everything ends once and returns its resources.
  ~ScriptedLnd() {
    lnd->shut_down();
    for (unsigned i = 0; i < 3; ++i) {
      turn();
      driver.report_closed();
    }
    EXPECT_TRUE(lnd->idle());
    EXPECT_TRUE(core->settled());
    EXPECT_EQ(core->breaches(), std::vector<std::string>{});
    const auto& tally = core->tally();
    EXPECT_EQ(tally.accepted, tally.sent + tally.failed + tally.cancelled);
  }

  void turn(Duration later = std::chrono::milliseconds(1)) {
    now += later;
    core->turn(now);
  }
  // Advances time in steps, so that deadlines are noticed promptly.
  void pass(Duration time) {
    for (const Instant end = now + time; now < end;) {
      turn(std::chrono::milliseconds(250));
      driver.report_closed();
    }
  }
  // The peer connects with a type, as this side names it; our HELLO is removed. Returns the index.
  std::uint32_t arrive(ConnectionType type) {
    Arrival arrival{.local = ours, .peer = {peer}, .type = type};
    arrival.hello = {.protocol = protocol, .source = peer, .source_incarnation = 7};
    lnd->accept(arrival);
    turn();
    const auto index = static_cast<std::uint32_t>(driver.streams.size() - 1);
    EXPECT_EQ(driver.at(index).written.size(), hello_bytes(protocol));
    driver.at(index).written.clear();
    return index;
  }
  // The peer's accepting answer to our HELLO.
  [[nodiscard]] Bytes reply(ConnectionType as_we_see_it) const {
    Hello hello{.protocol = protocol, .source = peer, .destination = ours, .source_incarnation = 7};
    hello.type = static_cast<std::int32_t>(*inverted(static_cast<std::int32_t>(as_we_see_it)));
    std::array<std::byte, kHelloV4Bytes> out{};
    const std::size_t length = encode_hello(hello, out).value();
    return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length)};
  }
  // A frame and the header of a PUT of `length` bytes.
  [[nodiscard]] Bytes message(std::uint64_t cookie, std::uint32_t length) const {
    const lnet::MessageHeader header{.destination = ours,
                                     .source = peer,
                                     .type = lnet::MessageType::kPut,
                                     .payload_length = length};
    Bytes out(kFrameBytes + lnet_header_bytes(protocol));
    encode_frame({.type = kFrameLnet, .cookies = {cookie, 0}}, std::span(out).first<kFrameBytes>());
    const auto rest = std::span(out).subspan(kFrameBytes);
    if (protocol == Protocol::kV4) {
      encode_header_nid16(header, rest.first<lnet::kHeaderNid16Bytes>());
    } else {
      EXPECT_TRUE(encode_header_nid4(header, rest.first<lnet::kHeaderNid4Bytes>()));
    }
    out.resize(out.size() + length);
    return out;
  }

  const lnet::Nid ours = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000001);
  const lnet::Nid peer = lnet::Nid::of(lnet::NetType::kTcp, 0, 0x0a000002);
  const Protocol protocol;
  Instant now = Instant{} + std::chrono::hours(1);

 private:
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  StreamSwitch switch_;

 public:
  ScriptedStreams driver;
  std::unique_ptr<mocks::FakeCore> core;
  std::unique_ptr<SockLnd> lnd;
};

}  // namespace plnet::socklnd

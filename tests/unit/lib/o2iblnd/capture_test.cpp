// SPDX-License-Identifier: BSD-3-Clause
// Two kernels over soft-RoCE, replayed in both roles: the LND replaces one of them, receives the
// messages of the other one, and must send the messages of the replaced one. The capture lies
// beside the tree, not in it.
#include <algorithm>
#include <fstream>
#include <map>

#include "tests/mocks/tcp_capture.hpp"
#include "tests/unit/lib/o2iblnd/scripted_verbs.hpp"

namespace plnet::o2iblnd::capture_test {
namespace {

// One message of o2iblnd, or private data of the connection manager.
struct Recorded {
  std::uint32_t from = 0;  // IPv4, host order
  bool connecting = false;
  Bytes bytes;
};

template <class Number>
Number read(std::span<const std::byte> bytes, std::size_t at) {
  Number value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The message in an Ethernet frame of RoCE v2: a base header of 12 bytes behind UDP, a checksum of
// 4 bytes at the end. Small messages are sends of one packet.
std::optional<Recorded> message_of(std::span<const std::byte> frame) {
  constexpr std::size_t kAddress = 26;
  constexpr std::size_t kBase = 42;
  constexpr std::size_t kMad = kBase + 12 + 8;
  if (frame.size() < kMad + 24) return std::nullopt;
  Recorded one;
  one.from = std::byteswap(read<std::uint32_t>(frame, kAddress));
  const auto opcode = read<std::uint8_t>(frame, kBase);
  const auto padding = read<std::uint8_t>(frame, kBase + 1) >> 4U & 3U;
  if (opcode == 0x04) {
    const auto payload = frame.subspan(kBase + 12, frame.size() - kBase - 12 - 4 - padding);
    one.bytes.assign(payload.begin(), payload.end());
    return one;
  }
  if (opcode != 0x64) return std::nullopt;
  const auto attribute = std::byteswap(read<std::uint16_t>(frame, kMad + 16));
  const std::size_t at = attribute == 0x10 ? 200 : attribute == 0x13 ? 60 : 0;
  if (at == 0) return std::nullopt;
  one.connecting = true;
  const auto data = frame.subspan(kMad + at, kConnectBytes);
  one.bytes.assign(data.begin(), data.end());
  return one;
}

// Reads a pcapng file of enhanced packet blocks.
std::optional<std::vector<Recorded>> read_capture() {
  std::ifstream file(mocks::shared_capture("kernel-2.17-o2ib-rxe.pcap"), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string raw((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::span<const std::byte> left = std::as_bytes(std::span(raw));
  std::vector<Recorded> found;
  while (left.size() >= 32) {
    const auto type = read<std::uint32_t>(left, 0);
    const auto length = read<std::uint32_t>(left, 4);
    if (length < 12 || length > left.size()) break;
    const auto bytes = read<std::uint32_t>(left, 20);
    if (type == 6 && 28 + std::size_t{bytes} <= length) {
      if (auto one = message_of(left.subspan(28, bytes))) found.push_back(std::move(*one));
    }
    left = left.subspan(length);
  }
  return found;
}

// Receives every message completely, and serves every GET as far as its sink reaches.
class Core final : public lnet::LndUpcalls {
 public:
  explicit Core(const Fragment& memory) : memory_({memory}) {}
  lnet::RxDecision on_header(const lnet::RxOffer& offer) override {
    ++headers;
    const std::uint32_t length = offer.reply_by_lnd ? offer.header.area<lnet::GetArea>().sink_length
                                                    : offer.header.payload_length;
    return {.verdict = lnet::RxVerdict::kReceive, .target = {memory_, 0, length}, .length = length};
  }
  void on_received(lnet::RxHandle, Result<void> status, Health) override {
    received += status ? 1U : 0U;
  }
  void on_sent(std::span<const lnet::Completion> burst) override {
    for (const lnet::Completion& one : burst)
      sent += one.status ? 1U : 0U;
  }
  void on_parked_gone(lnet::RxHandle, Errc) override {}
  void on_quarantine_over(lnet::Transmit&) override {}
  void on_lane(lnet::PeerLink&, lnet::LaneId, bool, bool) override {}
  void on_peer(const lnet::Nid&, lnet::PeerNotice, Instant) override {}
  void on_peer_released(lnet::PeerLink&) override {}
  void on_interface(lnet::InterfaceState, Errc) override {}

  unsigned headers = 0;
  unsigned received = 0;
  unsigned sent = 0;

 private:
  std::array<Fragment, 1> memory_;
};

class Replay {
 public:
  Replay(const std::vector<Recorded>& all, std::uint32_t role) : all_(all), role_(role) {
    for (const Recorded& one : all) {
      if (one.connecting && one.from == role) (void)decode(one.bytes, own_);
      if (one.connecting && one.from != role) (void)decode(one.bytes, peer_);
    }
    config_ = {.nid = lnet::from_nid64(own_.source_nid),
               .incarnation = own_.source_stamp,
               .arenas = &arenas_,
               .tunables = {.ntx = 64},
               .peers_max = 4,
               .connections_max = 4};
    memory_.resize(message_memory_bytes(config_) + kPayload);
    const ArenaId id = arenas_.add({.base = memory_.data(), .size = memory_.size()}).value();
    config_.message_memory = {id, 0};
    payload_ = {{id, message_memory_bytes(config_)}, kPayload};
    core_ = std::make_unique<Core>(payload_);
    lnd_ = std::make_unique<O2ibLnd>(config_, *core_, driver_);
    link_.nid = lnet::from_nid64(peer_.source_nid);
  }

  void run() {
    std::size_t number = 0;
    for (const Recorded& one : all_) {
      SCOPED_TRACE("message " + std::to_string(++number));
      if (one.connecting) {
        connect(one);
      } else if (one.from == role_) {
        expect(one.bytes);
      } else {
        hear(one.bytes);
      }
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(lnd_->count(LndId::kClosed), 0U);
    EXPECT_EQ(lnd_->count(LndId::kUnexpected), 0U);
    EXPECT_EQ(lnd_->count(LndId::kStray), 0U);
    EXPECT_GT(core_->headers, 30U);
    EXPECT_EQ(core_->received, core_->headers);
    EXPECT_GE(core_->sent + 1, transmits_.size());  // the capture ends within the last GET
  }

 private:
  static constexpr std::uint32_t kPayload = 1U << 20U;

  void turn() { (void)lnd_->flush(now_ += std::chrono::microseconds(10)); }
  // Completes all posted requests.
  void settle() {
    turn();
    while (!driver_.pairs.empty() && !driver_.pairs[0].chains.empty()) {
      const WorkRequest last = driver_.pairs[0].chains.front().back();
      driver_.pairs[0].chains.pop_front();
      const WorkCompletion done{.queue_pair = driver_.pairs[0].id, .cookie = last.cookie};
      lnd_->on_completions({&done, 1});
      turn();
    }
  }

  void connect(const Recorded& one) {
    const bool request = own_.kind == Kind::kConnectRequest;
    if (one.from == role_) {
      if (request) send_next(all_);  // a message makes us connect
      ASSERT_EQ(driver_.pairs.size(), 1U);
      Bytes ours = driver_.pairs[0].data;
      EXPECT_EQ(ours, one.bytes);  // identical private data
      return;
    }
    if (request) {
      lnd_->on_established(driver_.pairs[0].id, one.bytes);
    } else {
      Bytes padded = one.bytes;
      padded.resize(kConnectDataBytesMax);
      const QueuePairId id = driver_.make().id;
      lnd_->on_connect_request(id, {one.from, 1023}, {role_, 987}, padded);
      lnd_->on_established(id, {});
    }
    settle();
  }

  void hear(Bytes bytes) {
    Message message;
    ASSERT_EQ(decode(bytes, message), std::nullopt);
    if (message.kind == Kind::kGetDone) {  // it contains the cookie of the other kernel's request
      const std::uint64_t cookie = cookies_.at(message.cookie);
      std::memcpy(bytes.data() + kCommonBytes, &cookie, sizeof cookie);
    }
    auto& pair = driver_.pairs[0];
    ASSERT_FALSE(pair.receives.empty());
    const ReceiveRequest request = pair.receives.front();
    pair.receives.pop_front();
    std::ranges::copy(bytes, arenas_.bytes(request.buffer).begin());
    const WorkCompletion done{.queue_pair = pair.id,
                              .event = WorkEvent::kReceived,
                              .length = static_cast<std::uint32_t>(bytes.size()),
                              .cookie = request.cookie};
    lnd_->on_completions({&done, 1});
    settle();
  }

  // Sends the first message that our role chooses freely, if none was sent yet.
  void send_next(const std::vector<Recorded>& all) {
    for (const Recorded& one : all) {
      if (one.connecting || one.from != role_) continue;
      send(one.bytes);
      early_ = true;
      return turn();
    }
  }
  void send(const Bytes& bytes) {
    Message message;
    ASSERT_EQ(decode(bytes, message), std::nullopt);
    transmits_.push_back(std::make_unique<lnet::Transmit>());
    lnet::Transmit& transmit = *transmits_.back();
    transmit.header = message.header;
    transmit.next_hop = &link_;
    const std::uint32_t length = message.kind == Kind::kImmediate ? message.nob - 120 : 0;
    std::ranges::copy(std::span(bytes).subspan(120, length), arenas_.bytes(payload_).begin());
    transmit.source = {{&payload_, 1}, 0, length};
    if (message.kind == Kind::kGetRequest)
      transmit.sink = {
          {&payload_, 1}, 0, static_cast<std::uint32_t>(message.buffer.fragments.total())};
    lnet::Transmit* const taken = &transmit;
    ASSERT_EQ(lnd_->send({&taken, 1}), 1U);
  }

  void expect(const Bytes& theirs) {
    Message message;
    ASSERT_EQ(decode(theirs, message), std::nullopt);
    const bool chosen = message.kind == Kind::kImmediate || message.kind == Kind::kGetRequest;
    if (chosen && !std::exchange(early_, false)) send(theirs);
    settle();
    // NOOPs and answers have no fixed position.
    Message our;
    const auto found = std::ranges::find_if(driver_.sent, [&](const Bytes& bytes) {
      return !decode(bytes, our) && our.kind == message.kind;
    });
    ASSERT_NE(found, driver_.sent.end());
    last_ = *found;
    driver_.sent.erase(found);
    if (message.kind == Kind::kGetRequest) cookies_[message.cookie] = our.cookie;
    compare(theirs, message);
  }

  // Everything except credits and, in requests, cookies, keys and addresses.
  void compare(const Bytes& theirs, const Message& message) {
    ASSERT_EQ(last_.size(), theirs.size());
    Bytes ours = last_;
    const auto take_over = [&](std::size_t at, std::size_t length) {
      std::copy_n(theirs.begin() + static_cast<std::ptrdiff_t>(at), length,
                  ours.begin() + static_cast<std::ptrdiff_t>(at));
    };
    take_over(7, 1);
    if (message.kind == Kind::kGetRequest) {
      take_over(kImmediateBytes, 12);      // cookie, key
      take_over(kGetRequestBytes + 4, 8);  // address
    }
    EXPECT_EQ(ours, theirs);
  }

  const std::vector<Recorded>& all_;
  const std::uint32_t role_;
  Message own_;
  Message peer_;
  Bytes memory_;
  ArenaTable arenas_;
  Fragment payload_;
  O2ibLndConfig config_;
  ScriptedVerbs driver_{arenas_};
  std::unique_ptr<Core> core_;
  std::unique_ptr<O2ibLnd> lnd_;
  lnet::PeerLink link_;
  std::vector<std::unique_ptr<lnet::Transmit>> transmits_;
  std::map<std::uint64_t, std::uint64_t> cookies_;  // the kernel's requests to ours
  Bytes last_;
  bool early_ = false;
  Instant now_{};
};

TEST(O2iblndCapture, TheLndTakesThePlaceOfEitherKernel) {
  const auto all = read_capture();
  if (!all) GTEST_SKIP() << "no capture beside the tree";
  ASSERT_GT(all->size(), 100U);
  for (const std::uint32_t role : {0x0a63'000bU, 0x0a63'000cU}) {
    SCOPED_TRACE(role);
    Replay(*all, role).run();
  }
}

}  // namespace
}  // namespace plnet::o2iblnd::capture_test

// SPDX-License-Identifier: BSD-3-Clause
// A router with few buffers and credits: messages of clients come, fail and are lost on their way
// in, are delivered or fail in any order on their way out, and peers come and go. Each message ends
// once, and all buffers and credits come home.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tests/fuzz/script.hpp"
#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forwarder_fuzz {
namespace {

constexpr unsigned kStepsMax = 400;
constexpr std::uint32_t kConnections = 24;
constexpr std::array<std::uint32_t, 8> kLengths{0, 1, 100, 4096, 4097, 5000, 1U << 20U, ~0U};
constexpr std::array<MessageType, 6> kTypes{MessageType::kPut,   MessageType::kGet,
                                            MessageType::kAck,   MessageType::kReply,
                                            MessageType::kHello, static_cast<MessageType>(77)};
constexpr std::array<Health, 6> kHealths{Health::kLocalDropped,   Health::kLocalTimeout,
                                         Health::kRemoteDropped,  Health::kRemoteTimeout,
                                         Health::kNetworkTimeout, Health::kLocalAborted};
constexpr std::array<PeerNotice, 3> kNotices{PeerNotice::kAlive, PeerNotice::kDown,
                                             PeerNotice::kLost};

class Run {
 public:
  explicit Run(fuzz::Script& script)
      : script_(script),
        setup_(script.byte()),
        rig_({.shards = 1 + (setup_ & 1U),
              .buffers = {{2, 3, 2}},
              .tunables = {.peer_credits = 1 + (setup_ >> 1 & 3), .peer_buffer_credits = 2},
              .messages = 6,
              .receives = kConnections + 4}) {}

  void run() {
    for (unsigned i = 0; i < kStepsMax && !script_.empty(); ++i) {
      step();
      rig_.node.turn(rig_.now += std::chrono::microseconds(1));
      collect();
    }
    drain();
    rig_.expect_conserved();
  }

 private:
  struct Offered {
    RxHandle rx;
    unsigned shard;
    Nid from;
    bool parked;
  };

  // One of the clients is a gateway, which sends for others; servers also send.
  Nid client() { return ForwardRig::client(10 + script_.below(3)); }
  Nid server() { return ForwardRig::server(20 + script_.below(4)); }
  unsigned shard() { return script_.below(rig_.node.shards()); }

  void step() {
    switch (script_.below(12)) {
      case 0: return end_receive({});
      case 1: return end_receive(std::unexpected(Errc::kReset));
      case 2: return lose_parked();
      case 3: return end_send({});
      case 4:
        return end_send({.status = std::unexpected(Errc::kReset),
                         .health = kHealths[script_.below(kHealths.size())],
                         .unsent = script_.below(2) != 0});
      case 5: {
        const Nid which = server();
        return rig_.port(which, shard()).on_peer(which, kNotices[script_.below(3)], rig_.now);
      }
      case 6: return rig_.node.delete_peer(server());
      case 7: return rig_.node.delete_peer(client());
      case 8: return rig_.pass(std::chrono::seconds(1 + script_.below(8)));
      default: return offer();
    }
  }
  void offer() {
    if (offered_.size() >= kConnections) return;
    const RxHandle rx{free_index(), ++generation_};
    const bool back = script_.below(8) == 0;
    const Nid from = back ? server() : client();
    const Nid to = back ? client() : server();
    const unsigned where = shard();
    const std::uint32_t length = kLengths[script_.below(kLengths.size())];
    const MessageType type = kTypes[script_.below(kTypes.size())];
    const RxDecision decision = rig_.offer(from, to, length, rx, type, where);
    if (decision.verdict == RxVerdict::kPark) offered_.push_back({rx, where, from, true});
    if (decision.verdict == RxVerdict::kReceive) offered_.push_back({rx, where, from, false});
  }
  std::uint32_t free_index() {
    std::uint32_t index = 0;
    while (std::ranges::any_of(offered_, [&](const auto& each) { return each.rx.index == index; }))
      ++index;
    return index;
  }
  // Chooses a message in this state; the search begins at the one that the input names.
  bool choose(bool parked, Offered& one) {
    const std::size_t first = script_.byte();
    for (std::size_t i = 0; i < offered_.size(); ++i) {
      const std::size_t at = (first + i) % offered_.size();
      if (offered_[at].parked != parked) continue;
      one = offered_[at];
      offered_.erase(offered_.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    }
    return false;
  }
  void end_receive(Result<void> status) {
    Offered one{};
    if (choose(false, one)) rig_.received(one.from, one.rx, status, one.shard);
  }
  void lose_parked() {
    Offered one{};
    if (choose(true, one)) rig_.port(one.from, one.shard).on_parked_gone(one.rx, Errc::kReset);
  }
  void end_send(const Completion& how) {
    HeldLnd& lnd = script_.below(8) == 0 ? rig_.in(shard()) : rig_.out(shard());
    if (!lnd.held.empty()) lnd.end(script_.byte() % lnd.held.size(), how);
  }
  // Takes the decisions about parked messages.
  void collect() {
    for (unsigned i = 0; i < rig_.node.shards(); ++i) {
      for (HeldLnd* const lnd : {&rig_.in(i), &rig_.out(i)}) {
        for (const auto& [rx, decision] : std::exchange(lnd->resumed, {})) {
          const auto found = std::ranges::find(offered_, rx, &Offered::rx);
          PLNET_CHECK(found != offered_.end() && found->parked, "each message is decided once");
          found->parked = false;
          if (decision.verdict != RxVerdict::kReceive) offered_.erase(found);
        }
      }
    }
  }
  void drain() {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const Nid each = ForwardRig::server(20 + i);
      rig_.port(each).on_peer(each, PeerNotice::kAlive, rig_.now);
    }
    bool more = true;
    for (unsigned round = 0; more && round < 200; ++round) {
      rig_.settle();
      collect();
      Offered one{};
      while (choose(false, one))
        rig_.received(one.from, one.rx, {}, one.shard);
      more = !offered_.empty() || !rig_.node.quiet();
      for (unsigned i = 0; i < rig_.node.shards(); ++i) {
        for (HeldLnd* const lnd : {&rig_.in(i), &rig_.out(i)}) {
          more = more || !lnd->held.empty() || rig_.core(i).buffers.held() > 0;
          while (!lnd->held.empty())
            lnd->end(0);
        }
      }
    }
    rig_.settle();
    PLNET_CHECK(offered_.empty(), "no message waits for ever");
  }

  fuzz::Script& script_;
  const std::uint8_t setup_;
  ForwardRig rig_;
  std::vector<Offered> offered_;
  std::uint32_t generation_ = 0;
};

}  // namespace
}  // namespace plnet::lnet::forwarder_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plnet::fuzz::end_at_failures();
  plnet::fuzz::Script script(data, size);
  plnet::lnet::forwarder_fuzz::Run(script).run();
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Pushes and ping replies from strangers, through discovery into the peers of a real coordinator:
// the peers stay consistent, within their limits, and nothing waits for ever. A connected peer that
// has pushed nothing keeps its NID, regardless of the pushes of others and of pushes in its name.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/lnet/control/coordinator.hpp"

using namespace plnet;
using namespace plnet::lnet;

namespace {

const Nid kOurs = Nid::of(NetType::kTcp, 0, 0x0a000001);

constexpr std::uint32_t kConnected = 3;

Nid theirs(std::uint32_t n) {
  return Nid::of(NetType::kTcp, 0, 0x0a000002 + n % 4);
}

// One node. What it sends is kept until the input answers it.
class Node final : public CoordinatorHost, public DataOperations {
 public:
  Node() : memory_(Coordinator::memory_bytes(limits())) {}

  static CoordinatorLimits limits() {
    return {.peers = {.peers = 16,
                      .peer_nis = 64,
                      .peers_over_2 = 4,
                      .peers_over_8 = 2,
                      .peers_over_40 = 1,
                      .kept_for_own = 2},
            .exchanges = 4,
            .waiting_for_peers = 4};
  }
  [[nodiscard]] PingMemory memory() { return {.at = {.arena = 0, .offset = 0}, .bytes = memory_}; }
  void host(Coordinator& coordinator) { coordinator_ = &coordinator; }

  // `sender` is the neighbour that delivers the push.
  void push(const Nid& from, const Nid& sender, std::span<const std::uint8_t> bytes) {
    for (auto& [index, md] : mds_) {
      if ((md.options & kMdPut) == 0) continue;
      if (is_of_peer_of(sender, from)) spoken.push_back(from);
      finish(index, {.kind = EventKind::kPut, .source = {from, kLustrePid}, .sender = sender},
             bytes);
      return;
    }
  }
  // The oldest ping or push of ours ends: with these bytes, or by its timeout if there are none.
  bool answer(std::span<const std::uint8_t> bytes) {
    if (sent_.empty()) return false;
    const auto [index, target, ping] = sent_.front();
    sent_.erase(sent_.begin());
    if (!mds_.contains(index)) return true;
    if (!bytes.empty() && ping) spoken.push_back(target);
    const EventKind kind = bytes.empty() ? EventKind::kUnlink
                           : ping        ? EventKind::kReply
                                         : EventKind::kAck;
    finish(index, {.kind = kind, .target = {kOurs, kLustrePid}, .source = {target, kLustrePid}},
           ping ? bytes : bytes.first(0));
    return true;
  }

  DataOperations& data() override { return *this; }
  void wait_over(Parcel& /*parcel*/) override { ++over; }
  void release_peer_ni(PeerNi& ni) override { coordinator_->peer_ni_released(ni); }
  void release_ni(Ni& ni) override { coordinator_->ni_released(ni); }
  void end_pushes() override {}
  void publish_faults(const FaultView* /*view*/) override {}
  void publish_routes(const RouteView& /*view*/) override {}
  void publish_access(const AccessView* /*view*/) override {}
  [[nodiscard]] Instant now() const override { return Instant(std::chrono::hours(1)); }

  Result<Attached> attach(const MeSpec& /*me*/, const MdSpec& md) override {
    const std::uint32_t index = add(md);
    return Attached{.me = {index, 1, 0}, .md = {index, 1, 0}};
  }
  Result<MdHandle> bind(const MdSpec& md) override { return MdHandle{add(md), 1, 0}; }
  Result<void> unlink(MdHandle md) override {
    if (!mds_.contains(md.index)) return std::unexpected(Errc::kNotFound);
    finish(md.index, {.kind = EventKind::kUnlink}, {});
    return {};
  }
  Result<void> unlink(MeHandle me) override { return unlink(MdHandle{me.index, 1, 0}); }
  Result<void> put(MdHandle md, const PutSpec& put) override {
    sent_.push_back({md.index, put.target.nid, false});
    return {};
  }
  Result<void> get(MdHandle md, const GetSpec& get) override {
    sent_.push_back({md.index, get.target.nid, true});
    return {};
  }
  [[nodiscard]] ShardId shard() const override { return 0; }

  unsigned over = 0;
  std::vector<Nid> spoken;  // peers that may have sent pushes themselves

 private:
  [[nodiscard]] bool is_of_peer_of(const Nid& sender, const Nid& from) const {
    const PeerNi* const one = coordinator_->peers().find(sender);
    const PeerNi* const other = coordinator_->peers().find(from);
    return sender == from ||
           (one != nullptr && other != nullptr && one->peer.load() == other->peer.load());
  }
  struct Sent {
    std::uint32_t index;
    Nid target;
    bool ping;
  };

  std::uint32_t add(const MdSpec& md) {
    mds_[++last_] = md;
    return last_;
  }
  void finish(std::uint32_t index, Event event, std::span<const std::uint8_t> bytes) {
    const MdSpec md = mds_.at(index);
    mds_.erase(index);
    const std::size_t length = std::min<std::size_t>(bytes.size(), md.length);
    std::copy_n(std::as_bytes(bytes).begin(), length,
                memory_.begin() + static_cast<std::ptrdiff_t>(md.fragments[0].at.offset));
    event.requested_length = static_cast<std::uint32_t>(bytes.size());
    event.accepted_length = static_cast<std::uint32_t>(length);
    event.unlinked = true;
    event.user = md.user;
    md.handler->on_event(event);
  }

  std::vector<std::byte> memory_;
  Coordinator* coordinator_ = nullptr;
  std::map<std::uint32_t, MdSpec> mds_;
  std::vector<Sent> sent_;
  std::uint32_t last_ = 0;
};

void check_peers(Coordinator& coordinator) {
  std::size_t peers = 0;
  coordinator.directory().for_each([&](PeerRecord& peer) {
    ++peers;
    const PeerView& view = peer.seen();
    PLNET_CHECK(!view.nis.empty() && view.nis.size() < kNisMax + 1, "a peer has interfaces");
    std::size_t listed = 0;
    for (const PeerNetView& net : view.nets)
      listed += view.on(net).size();
    PLNET_CHECK(listed == view.nis.size(), "every interface is on a network");
    for (const PeerNi* ni : view.nis) {
      PLNET_CHECK(ni->peer.load() == &peer, "an interface is its peer's");
      PLNET_CHECK(coordinator.peers().find(ni->nid) == ni, "and is found");
      PLNET_CHECK(ni->nid.is_well_formed() && !ni->nid.is_any(), "and has a NID");
    }
  });
  PLNET_CHECK(peers <= Node::limits().peers.peers, "no more than there may be");
}

// Checks the peers to which the node is connected from the start.
void check_silent(Coordinator& coordinator, const Node& node) {
  for (std::uint32_t n = 0; n < kConnected; ++n) {
    if (std::ranges::find(node.spoken, theirs(n)) != node.spoken.end()) continue;
    const PeerNi* const ni = coordinator.peers().find(theirs(n));
    PLNET_CHECK(ni != nullptr, "a silent peer stays");
    PLNET_CHECK(ni->peer.load()->seen().primary == theirs(n), "no other peer has its NID");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Qsbr qsbr(1, 16);
  HashPlacement placement(CptHash(1), {{0}});
  Parameters parameters;
  Node node;
  Coordinator coordinator(Node::limits(), qsbr, placement, parameters, node, node.memory());
  node.host(coordinator);
  (void)coordinator.add_ni({.nid = kOurs, .shards = ShardSet(1)});
  Message message;
  const std::uint8_t setup = data[0];
  if ((setup & 1) != 0) (void)coordinator.add_peer(theirs(0), Nid::any(), (setup & 2) != 0);
  for (std::uint32_t n = 0; n < kConnected; ++n) {
    coordinator.want_peer(message, {theirs(n)});
    coordinator.peers().find(theirs(n))->connected_by.set(1);
  }
  if ((setup & 4) != 0) coordinator.set_discovery(false);
  coordinator.discover(message, *coordinator.peers().find(theirs((setup >> 4) % 3)));
  std::span<const std::uint8_t> rest(data + 1, size - 1);
  while (rest.size() >= 3) {
    const std::uint8_t what = rest[0];
    const std::size_t length = std::min<std::size_t>(rest[1] * 256U + rest[2], rest.size() - 3);
    const auto bytes = rest.subspan(3, length);
    if ((what & 1) != 0) {
      const Nid from = theirs(what >> 4);
      node.push(from, (what & 2) != 0 ? theirs(what >> 2) : from, bytes);
    } else {
      (void)node.answer(bytes);
    }
    for (int i = 0; i < 4; ++i)
      coordinator.step(node.now());
    check_peers(coordinator);
    check_silent(coordinator, node);
    rest = rest.subspan(3 + length);
  }
  coordinator.shut_down();
  for (int i = 0; i < 4; ++i)
    coordinator.step(node.now());
  PLNET_CHECK(node.over == 4, "whoever waited was told");
  PLNET_CHECK(coordinator.quiet(), "all descriptors are back");
  return 0;
}

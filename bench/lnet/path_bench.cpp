// SPDX-License-Identifier: BSD-3-Clause
// Choosing the path of a message.
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "bench/harness/harness.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/paths/path_selection.hpp"

namespace plnet::bench {
namespace {

using namespace lnet;

constexpr std::size_t kPeers = 10000;
constexpr NetId kNear = make_net(NetType::kTcp, 0);
constexpr NetId kAlsoNear = make_net(NetType::kO2ib, 0);
constexpr NetId kFar = make_net(NetType::kKfi, 0);

// Peers in the coordinator's layout: PeerNis, Peers and the tables of views, by number.
class Node {
 public:
  struct Shape {
    std::vector<NetId> our_nets;
    std::size_t nis = 1;  // on each of them
    std::vector<NetId> peer_nets;
    std::size_t peer_nis = 1;  // on each of them
    std::size_t gateways = 0;  // on our first net
    bool multi_rail = false;
  };

  explicit Node(const Shape& shape)
      : sequences_({.peer_nets = 3 * kPeers, .peer_nis = 9 * kPeers}) {
    for (const NetId net : shape.our_nets)
      add_net(net, shape.nis);
    for (std::size_t i = 0; i < kPeers; ++i)
      add_peer(shape.peer_nets, shape.peer_nis, shape.multi_rail);
    for (std::size_t i = 0; i < shape.gateways; ++i) {
      auto& route = *route_list_.emplace_back(std::make_unique<Route>());
      Peer& gateway = add_peer({shape.our_nets.front()}, 1, true);
      route.spec = {.net = kFar, .gateway = gateway.seen().primary};
      route.number = static_cast<std::uint32_t>(i);
      route.gateway.store(&gateway);
    }
    routes_ = RouteView(route_list_);

    Random random(2);
    questions_.resize(16384);
    for (PeerNi*& question : questions_)
      question = peers_[random.below(kPeers)].seen().nis.front();
  }

  void select(benchmark::State& state) {
    std::size_t next = 0;
    std::uintptr_t answer = 0;
    for ([[maybe_unused]] auto _ : state) {
      // Each request depends on the previous result: latency, not throughput.
      PathRequest request;
      request.destination = questions_[(next++ + (answer >> 63)) % questions_.size()];
      const auto path = select_path(request, local_, routes_, sequences_, parameters_);
      answer = reinterpret_cast<std::uintptr_t>(path->next_hop);
      benchmark::DoNotOptimize(answer);
    }
  }

 private:
  void add_net(NetId id, std::size_t nis) {
    auto& group = groups_.emplace_back();
    for (std::size_t i = 0; i < nis; ++i) {
      Ni& ni = nis_.emplace_back();
      ni.net = id;
      ni.number = static_cast<std::uint16_t>(nis_.size());
      ni.nid = Nid::of(type_of_net(id), number_of_net(id), ni.number);
      ni.tx_credits = credits_.emplace_back().data();
      for (unsigned shard = 0; shard < 4; ++shard) {
        ni.shards.set(shard);
        ni.tx_credits[shard].tx_credits.set(64);
      }
      group.push_back(&ni);
      local_.nis.push_back(&ni);
    }
    const auto number = static_cast<std::uint16_t>(local_.nets.size());
    local_.nets.push_back(
        {.id = id, .number = number, .nis = group, .priority = &priorities_.emplace_back(9U)});
  }

  Peer& add_peer(const std::vector<NetId>& nets, std::size_t nis, bool multi_rail) {
    Peer& peer = peers_.emplace_back();
    peer.state.set(multi_rail ? kPeerMultiRail : 0U);
    auto& lists = lists_.emplace_back();
    for (const NetId net : nets) {
      lists.nets.push_back({.net = net,
                            .number = peer_nets_++,
                            .first = static_cast<std::uint16_t>(lists.nis.size()),
                            .count = static_cast<std::uint16_t>(nis)});
      for (std::size_t i = 0; i < nis; ++i) {
        PeerNi& ni = peer_nis_.emplace_back();
        ni.number = static_cast<std::uint32_t>(peer_nis_.size() - 1);
        ni.net = net;
        ni.nid = Nid::of(type_of_net(net), number_of_net(net), ni.number);
        ni.tx_credits.set(8);
        ni.peer.store(&peer);
        lists.nis.push_back(&ni);
      }
    }
    peer.publish(views_.emplace_back(lists.nis.front()->nid, lists.nets, lists.nis));
    return peer;
  }

  struct Lists {
    std::vector<PeerNetView> nets;
    std::vector<PeerNi*> nis;
  };
  LocalView local_;
  RouteView routes_;
  PathSequences sequences_;
  Parameters parameters_;
  std::deque<Ni> nis_;
  std::deque<std::vector<Ni*>> groups_;
  std::deque<std::array<Ni::CreditView, kShardsMax>> credits_;
  std::deque<Relaxed<std::uint32_t>> priorities_;
  std::deque<Peer> peers_;
  std::deque<PeerNi> peer_nis_;
  std::deque<PeerView> views_;
  std::deque<Lists> lists_;
  std::uint32_t peer_nets_ = 0;
  std::vector<std::unique_ptr<Route>> route_list_;
  std::vector<PeerNi*> questions_;
};

Body body(Node::Shape shape) {
  return [shape = std::move(shape)](benchmark::State& state) { Node(shape).select(state); };
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "lnet.path.select",
                   .what = "path to one random peer of 10 000, each with one NI, as we have",
                   .bar = Bar{.limit = 30},
                   .value = body({.our_nets = {kNear}, .peer_nets = {kNear}, .multi_rail = true})});
  suite.push_back({.name = "lnet.path.select.single_rail",
                   .what = "the same, peers that are not multi-rail",
                   .value = body({.our_nets = {kNear}, .peer_nets = {kNear}})});
  suite.push_back({.name = "lnet.path.select.multi_rail",
                   .what = "the same, 2 nets with 2 NIs each on both sides",
                   .value = body({.our_nets = {kNear, kAlsoNear},
                                  .nis = 2,
                                  .peer_nets = {kNear, kAlsoNear},
                                  .peer_nis = 2,
                                  .multi_rail = true})});
  suite.push_back(
      {.name = "lnet.path.select.routed",
       .what = "the same, one NI each and 16 gateways in between",
       .value =
           body({.our_nets = {kNear}, .peer_nets = {kFar}, .gateways = 16, .multi_rail = true})});
}

}  // namespace plnet::bench

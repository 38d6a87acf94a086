// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/silence_watch.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/watch/standing_warnings.hpp"

namespace plnet::node {
namespace {

using lnet::Nid;
using lnet::RouteReport;
using runtime::Json;

constexpr std::size_t kSilentNamed = 3;
constexpr std::size_t kGatewaysNamed = 2;  // named in a warning

// The first NI on the network of the gateway; "'*'" if there is none.
std::string source_toward(const Nid& gateway, const std::vector<lnet::NetReport>& nets) {
  const auto net = std::ranges::find(nets, gateway.net(), &lnet::NetReport::net);
  return net == nets.end() || net->nis.empty() ? "'*'" : text_of(net->nis.front().nid);
}

std::string silence_causes(const SilentPeer& peer, const std::string& gateways) {
  const std::string net = lnet::text_of_net(peer.nid.net());
  if (peer.neighbour_heard) {
    return fmt::format(
        "the gateway ({}) answers, and so do other nodes of {}. Possible causes: the peer is down, "
        "or has no route back to this node",
        gateways, net);
  }
  return fmt::format(
      "the gateway ({}) answers, and no node of {} has since. Possible causes: the peer is down, "
      "it has no route back to this node, or the gateway drops the messages (access rules, its NI "
      "on {})",
      gateways, net, net);
}

Json silence_warning(const SilentPeer& peer, const std::vector<RouteReport>& routes,
                     const std::vector<lnet::NetReport>& nets) {
  const std::string what =
      fmt::format("{} does not answer: {} without an answer in the last minute", text_of(peer.nid),
                  counted(peer.requests, "request"));
  std::vector<Nid> up;
  std::vector<Nid> all;
  for (const RouteReport& route : routes) {
    if (route.route.net != peer.nid.net()) continue;
    all.push_back(route.route.gateway);
    if (route.up) up.push_back(route.route.gateway);
  }
  if (all.empty()) return warning(what, "the route to it was deleted", "lnetctl route show -v 1");
  const Nid& ask = up.empty() ? all.front() : up.front();
  // The gateway learns whether it can reach the peer only by a message of its own or a further one.
  const std::string look =
      fmt::format("on {}: lnetctl ping {}; lnetctl status; lnetctl route explain {} {}",
                  text_of(ask), text_of(peer.nid), source_toward(ask, nets), text_of(peer.nid));
  if (up.empty()) {
    return warning(what, fmt::format("no route to {} is up now", lnet::text_of_net(peer.nid.net())),
                   "lnetctl route show -v 1; " + look);
  }
  std::string gateways;
  for (std::size_t i = 0; i < std::min(up.size(), kGatewaysNamed); ++i)
    gateways += fmt::format("{}{}", i == 0 ? "" : ", ", text_of(up[i]));
  if (up.size() > kGatewaysNamed) gateways += ", …";
  return warning(what, silence_causes(peer, gateways),
                 fmt::format("{}; if it answers the ping, on the peer: lnetctl status", look));
}

}  // namespace

void SilenceWatch::Known::advance(Instant now) {
  const auto step_of = [](Instant when) { return when.time_since_epoch() / kStep; };
  const auto from = step_of(heard_of);
  const auto to = step_of(now);
  for (auto step = std::max(from + 1, to - static_cast<std::int64_t>(kSteps) + 1); step <= to;
       ++step)
    requests[static_cast<std::size_t>(step) % kSteps] = 0;
  heard_of = now;
}

std::uint64_t SilenceWatch::Known::sum() const {
  return std::accumulate(requests.begin(), requests.end(), std::uint64_t{0});
}

void SilenceWatch::hear(const lnet::SilenceNote& note, Instant now) {
  using Kind = lnet::SilenceNote::Kind;
  if (note.kind == Kind::kHeard) {
    known_.erase(note.target);
    return;
  }
  if (note.kind == Kind::kNeighbourHeard) {
    if (const auto at = known_.find(note.target); at != known_.end())
      at->second.neighbour_heard = true;
    return;
  }
  if (!known_.contains(note.target) && known_.size() >= kKnownMax) {
    std::erase_if(known_,
                  [now](const auto& entry) { return now - entry.second.heard_of >= kWindow; });
    if (known_.size() >= kKnownMax) return;
  }
  Known& known = known_[note.target];
  known.advance(now);
  known.requests[static_cast<std::size_t>(now.time_since_epoch() / kStep) % kSteps] +=
      note.requests;
}

std::vector<SilentPeer> SilenceWatch::list(Instant now) const {
  std::vector<SilentPeer> silent;
  for (const auto& [nid, known] : known_) {
    Known at_now = known;
    at_now.advance(now);
    if (const std::uint64_t requests = at_now.sum(); requests > 0)
      silent.push_back({nid, requests, known.neighbour_heard});
  }
  std::ranges::sort(silent, std::greater(), &SilentPeer::requests);
  return silent;
}

std::uint64_t SilenceWatch::requests_to(const Nid& nid, Instant now) const {
  const auto at = known_.find(nid);
  if (at == known_.end()) return 0;
  Known at_now = at->second;
  at_now.advance(now);
  return at_now.sum();
}

Json warnings_of_silence(const std::vector<SilentPeer>& silent,
                         const std::vector<RouteReport>& routes,
                         const std::vector<lnet::NetReport>& nets) {
  Json all = Json::array();
  for (const SilentPeer& peer : silent) {
    if (all.size() == kSilentNamed) break;
    all.push_back(silence_warning(peer, routes, nets));
  }
  if (silent.size() > all.size()) {
    all.push_back(warning(fmt::format("{} more peers do not answer", silent.size() - all.size()),
                          "", "on the gateways: lnetctl status"));
  }
  return all;
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/host.hpp"

#include <algorithm>
#include <cerrno>

#include <netinet/in.h>
#include <sys/socket.h>

#include "drivers/net/tcp/listener.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "lib/base/check.hpp"
#include "lib/lnet/node/introductions.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/admin/once_log.hpp"
#include "lib/socklnd/arrival_home.hpp"
#include "node/net/tcp/reports.hpp"
#include "node/net/tcp/rules.hpp"
#include "node/net/tcp/unreachable_text.hpp"

namespace plnet::node {
namespace {

using lnet::Nid;
using socklnd::Arrival;
using socklnd::SocketAddress;

constexpr runtime::LogSite kRelayRefused{
    runtime::LogLevel::kWarning, "tcp_relay_refused", {"why", "then"}};
constexpr runtime::LogSite kBusyPollRefused{
    runtime::LogLevel::kWarning, "busy_poll_refused", {"why", "needs"}};

// By an attempt: capabilities, user namespaces and sysctls all matter.
bool may_use_reserved_ports() {
  const drivers::TcpSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(socklnd::kReservedPortMin);
  return socket.valid() &&
         (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
          errno == EADDRINUSE || errno == EADDRNOTAVAIL);
}

socklnd::AcceptorConfig acceptor_config(const TcpHost::Parts& parts, TcpPlace& place) {
  return {.policy = parts.options.accept,
          .step_timeout = std::chrono::seconds(parts.options.tunables.accept_timeout),
          .strangers_max = parts.strangers_max,
          .any_address = parts.any_address,
          .complaints = &place.complaints()};
}

class TcpMaker final : public NetworkMaker {
 public:
  TcpMaker(const LndSetup& setup, TcpHost& tcp) : setup_(setup), tcp_(tcp) {}

  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId shard) override {
    const lnet::Ni& ni = port.ni();
    const socklnd::SockLndConfig config{
        .nid = ni.nid,
        .incarnation = ni.incarnation,
        .arenas = setup_.arenas,
        .tunables = tunables_of_ni(tcp_.options().tunables, ni.lnd_tunables),
        .privileged = tcp_.privileged(),
        .peers_max = setup_.peers,
        .connections_max = tcp_.streams_max(),
        .relay_bytes_min = tcp_.relay_bytes_min(),
        .down_grace = tcp_.down_grace(),
        .silence_max = tcp_.silence_max(),
        .payload_rate_min = tcp_.payload_rate_min(),
        .start = setup_.clock->now(),
        .complaints = &tcp_.place(shard).complaints()};
    return std::make_unique<socklnd::EnrolledLnd>(config, port, tcp_.place(shard).inbox());
  }
  Outcome<void> open(const lnet::NiSetup& ni) override { return tcp_.open_ni(ni.nid); }
  void close(const lnet::NiSetup& ni) override { tcp_.close_ni(ni.nid); }

 private:
  const LndSetup setup_;
  TcpHost& tcp_;
};

}  // namespace

std::vector<SocketAddress> listen_addresses(const TcpOptions& options, const Nid& nid) {
  std::vector<SocketAddress> addresses;
  if (options.accept == socklnd::AcceptPolicy::kNone) return addresses;
  const socklnd::Tunables& tunables = options.tunables;
  for (const std::int64_t port : {tunables.accept_port, tunables.accept_port_bulk}) {
    SocketAddress address = socket_address(nid);
    address.port = static_cast<std::uint16_t>(port);
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  return addresses;
}

SocketAddress socket_address(const Nid& nid) {
  SocketAddress address;
  if (nid.is_large()) {
    address.ip = nid.address_be;
  } else {
    address.ip[10] = address.ip[11] = 0xff;
    std::copy_n(nid.address_be.begin(), 4, address.ip.begin() + 12);
  }
  return address;
}

Outcome<std::unique_ptr<TcpHost>> TcpHost::create(const Parts& parts) {
  std::vector<std::unique_ptr<TcpPlace>> places;
  for (unsigned shard = 0; shard < parts.shards; ++shard) {
    auto place = TcpPlace::open({.connections_max = parts.streams_max,
                                 .busy_poll = parts.busy_poll,
                                 .congestion_control = parts.congestion_control,
                                 .relay = parts.relay_bytes_min > 0});
    if (!place) return std::unexpected(place.error());
    places.push_back(std::move(*place));
  }
  return std::unique_ptr<TcpHost>(new TcpHost(parts, std::move(places)));
}

TcpHost::TcpHost(const Parts& parts, std::vector<std::unique_ptr<TcpPlace>> places)
    : parts_(parts),
      privileged_(may_use_reserved_ports()),
      lanes_(parts.cpt_of_shard),
      places_(std::move(places)),
      acceptor_(acceptor_config(parts, *places_[0]), places_[0]->streams(), *this) {
  places_[0]->set_acceptor(acceptor_);
  for (unsigned shard = 0; shard < parts.cpt_of_shard.size(); ++shard)
    places_[shard]->inbox().set_lanes(lanes_.end(shard));
}

TcpHost::~TcpHost() {
  for (const auto id : metric_ids_)
    metrics_->remove(id);
}

void TcpHost::connect(const LnetShard& first, std::span<Doorbell* const> doorbells) {
  first_ = &first;
  for (std::size_t shard = 0; shard < places_.size(); ++shard)
    places_[shard]->inbox().set_doorbell(*doorbells[shard]);
  lanes_.set_doorbells(doorbells);
}

void TcpHost::add_metrics(runtime::Metrics& metrics) {
  metrics_ = &metrics;
  for (unsigned i = 0; i < shards(); ++i) {
    const std::vector<runtime::MetricLabel> labels{{"shard", std::to_string(i)}};
    metric_ids_.push_back(metrics.add("tcp", labels, place(i).device().counters()));
    metric_ids_.push_back(metrics.add("tcp_place", labels, place(i).inbox().counters()));
    metric_ids_.push_back(metrics.add("tcp_complaint", labels, place(i).complaints().counters()));
  }
  metric_ids_.push_back(metrics.add("tcp_acceptor", {}, acceptor_.counters()));
}

void TcpHost::log_refused_requests(runtime::Log& log) {
  if (const auto why = busy_poll_refusal(); !why.empty())
    log.write(kBusyPollRefused, {why, "CAP_NET_ADMIN, and a kernel of 5.11 or later"});
  if (const auto why = place(0).device().relay_refusal(); !why.empty())
    log.write(kRelayRefused, {why, "large payloads are copied"});
}

void TcpHost::say(runtime::Log& /*log*/, runtime::OnceLog& bad_input) {
  for (const auto& place : places_)
    place->complaints().say(bad_input);
}

std::unique_ptr<FamilyRules> TcpHost::rules() const {
  return std::make_unique<TcpRules>(parts_.options, &by_link_);
}

std::unique_ptr<NetworkMaker> TcpHost::maker(lnet::NetType /*type*/, const LndSetup& setup) {
  return std::make_unique<TcpMaker>(setup, *this);
}

bool TcpHost::has_options_of(const lnet::NodeConfig& config) const {
  const auto options = tcp_options_of(config);
  return options && *options == parts_.options;
}

// Called while no NI is being added or opened, since shards read the options then.
void TcpHost::take_options(const lnet::NodeConfig& config) {
  if (const auto options = tcp_options_of(config)) parts_.options = *options;
}

std::function<void(unsigned shard)> TcpHost::tuning_of(const Nid& nid,
                                                       std::span<const lnet::LndTunable> in_force) {
  return [this, nid, tunables = tunables_of_ni(parts_.options.tunables, in_force)](unsigned shard) {
    if (auto* const lnd = place(shard).inbox().lnd(nid)) lnd->set_tunables(tunables);
  };
}

Outcome<void> TcpHost::tune(lnet::NetId /*net*/, lnet::NiConfig& ni, const lnet::NiChange& change) {
  if (change.connections_per_peer) {
    set_lnd_tunable(ni, "conns_per_peer", *change.connections_per_peer);
    if (ni.nid) by_link_.forget(*ni.nid);
  }
  if (change.lnd_timeout_s) set_lnd_tunable(ni, "timeout", *change.lnd_timeout_s);
  return {};
}

std::string TcpHost::explain_unreachable(const lnet::Nid& peer, Errc trouble) const {
  std::vector<runtime::LocalAddress> local;
  if (auto known = runtime::local_addresses(true)) local = std::move(*known);
  return unreachable_text(peer, parts_.options.tunables.accept_port, trouble, local);
}

void TcpHost::describe(lnet::NiReport& ni) const {
  ni.driver = "ksocklnd";
  ni.parameters = parameters_of(tunables_of_ni(parts_.options.tunables, ni.lnd_tunables));
}

void TcpHost::connections(LnetDesk& desk, const lnet::ConnectionQuery& query,
                          lnet::Reply<std::vector<lnet::ConnectionReport>> reply) {
  report_connections(desk, *this, query, std::move(reply));
}

void TcpHost::connection_peers(LnetDesk& desk, const lnet::ConnectionQuery& query,
                               lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply) {
  report_connection_peers(desk, *this, query, std::move(reply));
}

bool TcpHost::is_open(const SocketAddress& address) const {
  return std::ranges::any_of(doors_, [&](const Door& door) {
    return std::ranges::find(door.addresses, address) != door.addresses.end();
  });
}

Outcome<void> TcpHost::open_ni(const Nid& nid) {
  const socklnd::Tunables& tunables = parts_.options.tunables;
  doors_.push_back({.nid = nid, .addresses = {}});
  for (const SocketAddress& address : listen_addresses(parts_.options, nid)) {
    const bool shared = is_open(address);
    if (!shared) {
      auto listens = places_[0]->device().listen(
          address, listen_backlog(tunables, parts_.strangers_max), stream_options(tunables));
      if (!listens) {
        close_ni(nid);
        return failure(listens.error(), drivers::explain_listen_failure(listens.error(), address));
      }
    }
    doors_.back().addresses.push_back(address);
    places_[0]->set_listening(true);
  }
  return {};
}

void TcpHost::close_ni(const Nid& nid) {
  const auto door = std::ranges::find(doors_, nid, &Door::nid);
  if (door == doors_.end()) return;
  const auto addresses = std::move(door->addresses);
  doors_.erase(door);
  for (const SocketAddress& address : addresses) {
    if (!is_open(address)) places_[0]->device().stop_listening(address);
  }
  places_[0]->set_listening(
      std::ranges::any_of(doors_, [](const Door& each) { return !each.addresses.empty(); }));
}

std::optional<socklnd::LocalInterface> TcpHost::local(const Nid& nid) const {
  if (std::ranges::find(doors_, nid, &Door::nid) == doors_.end()) return std::nullopt;
  const lnet::Node* const node = first_->node_owner();
  return node == nullptr ? std::nullopt : socklnd::interface_of(*node, nid);
}

bool TcpHost::admits(const Arrival& arrival) {
  lnet::Node* const node = first_->node_owner();
  return node == nullptr ||  // without a node the connection is refused later
         lnet::admits_owner(node->shared(), 0, {arrival.peer.nid, arrival.local});
}

socklnd::Room TcpHost::room_for(const Arrival& arrival) {
  home_.reset();
  if (!local(arrival.local)) return socklnd::Room::kNone;
  const auto home = socklnd::home_of(*first_->node_owner(), arrival);
  if (!home) return socklnd::room_of(home.error());
  if (!places_[*home]->inbox().has_room()) return socklnd::Room::kLater;
  home_ = *home;
  return socklnd::Room::kFree;
}

void TcpHost::hand_over(const Arrival& arrival) {
  PLNET_CHECK(home_.has_value(), "room_for() precedes each arrival");
  places_[*home_]->inbox().bring(arrival);
}

}  // namespace plnet::node

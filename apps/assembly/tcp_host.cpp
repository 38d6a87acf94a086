// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/tcp_host.hpp"

#include <algorithm>
#include <cerrno>

#include <netinet/in.h>
#include <sys/socket.h>

#include "drivers/net/tcp/listener.hpp"
#include "drivers/net/tcp/socket.hpp"
#include "lib/base/check.hpp"
#include "lib/lnet/node/introductions.hpp"
#include "lib/socklnd/arrival_home.hpp"

namespace plnet::apps {
namespace {

using lnet::Nid;
using socklnd::Arrival;
using socklnd::SocketAddress;

// By trying: capabilities, user namespaces and sysctls all have a say in it.
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

socklnd::AcceptorConfig acceptor_config(const TcpOptions& options, TcpPlace& place) {
  return {.policy = options.accept,
          .step_timeout = std::chrono::seconds(options.tunables.accept_timeout),
          .complaints = &place.complaints()};
}

}  // namespace

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
      acceptor_(acceptor_config(parts.options, *places_[0]), places_[0]->streams(), *this) {
  places_[0]->set_acceptor(acceptor_);
  for (unsigned shard = 0; shard < parts.cpt_of_shard.size(); ++shard)
    places_[shard]->inbox().set_lanes(lanes_.end(shard));
}

void TcpHost::set_doorbells(std::span<Doorbell* const> doorbells) {
  for (std::size_t shard = 0; shard < places_.size(); ++shard)
    places_[shard]->inbox().set_doorbell(*doorbells[shard]);
  lanes_.set_doorbells(doorbells);
}

void TcpHost::say_complaints(runtime::OnceLog& log) {
  for (const auto& place : places_)
    place->complaints().say(log);
}

bool TcpHost::is_open(const SocketAddress& address) const {
  return std::ranges::any_of(doors_, [&](const Door& door) {
    return std::ranges::find(door.addresses, address) != door.addresses.end();
  });
}

Outcome<void> TcpHost::open_ni(const Nid& nid) {
  const socklnd::Tunables& tunables = parts_.options.tunables;
  doors_.push_back({.nid = nid, .addresses = {}});
  if (parts_.options.accept == socklnd::AcceptPolicy::kNone) return {};
  for (const std::int64_t port : {tunables.accept_port, tunables.accept_port_bulk}) {
    SocketAddress address = socket_address(nid);
    address.port = static_cast<std::uint16_t>(port);
    const bool shared = is_open(address);
    if (!shared) {
      auto listens =
          places_[0]->device().listen(address, listen_backlog(tunables), stream_options(tunables));
      if (!listens) {
        close_ni(nid);
        return failure(listens.error(), drivers::explain_listen_failure(listens.error(), address));
      }
    }
    auto& own = doors_.back().addresses;
    if (std::ranges::find(own, address) == own.end()) own.push_back(address);
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
  const lnet::Node* const node = parts_.first->node_owner();
  return node == nullptr ? std::nullopt : socklnd::interface_of(*node, nid);
}

bool TcpHost::admits(const Arrival& arrival) {
  lnet::Node* const node = parts_.first->node_owner();
  return node == nullptr ||  // then it comes no further, either
         lnet::admits_owner(node->shared(), 0, {arrival.peer.nid, arrival.local});
}

bool TcpHost::has_room(const Arrival& arrival) {
  home_.reset();
  if (local(arrival.local)) home_ = socklnd::home_of(*parts_.first->node_owner(), arrival);
  return home_ && places_[*home_]->inbox().has_room();
}

void TcpHost::hand_over(const Arrival& arrival) {
  PLNET_CHECK(home_.has_value(), "who brings a connection has asked for room");
  places_[*home_]->inbox().bring(arrival);
}

}  // namespace plnet::apps

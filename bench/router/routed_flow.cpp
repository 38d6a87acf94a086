// SPDX-License-Identifier: BSD-3-Clause
#include "bench/router/routed_flow.hpp"

#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "bench/tcp/bare_pair.hpp"
#include "drivers/net/tcp/congestion.hpp"
#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::bench {

using drivers::TcpSocket;
using lnet::Nid;

namespace {

constexpr std::uint32_t kRouter = 0x7f000001;  // 127.0.0.1
constexpr std::uint32_t kClient = 0x7f000002;  // of the first flow; the next has the next two
constexpr std::uint32_t kServer = 0x7f000003;
constexpr std::uint16_t kNets = 2;
constexpr std::int32_t kCreditsOfKfi = 16;  // the kernel's default
constexpr unsigned kTurnsToMeet = 2'000'000;

// From a reserved port, otherwise the router would take it for a user's program.
TcpSocket bound(std::uint32_t address) {
  auto socket = drivers::open_socket(socket_address(address, 0));
  if (!socket) return {};
  for (std::uint16_t port = 1023; port >= 512; --port) {
    const drivers::SystemAddress from(socket_address(address, port));
    if (::bind(socket->get(), from.get(), from.size) == 0) return std::move(*socket);
  }
  return {};
}

}  // namespace

RoutedFlow::RoutedFlow(std::uint32_t relay_bytes_min) {
  if (start_router(kNets, nullptr, kPeerCredits, relay_bytes_min)) ends = connect();
}

RoutedFlow::RoutedFlow(const OtherNet& other, const Nid& to) {
  if (start_router(1, &other, kCreditsOfKfi)) connect_to(to);
}

RoutedFlow::RoutedFlow(const Nid& to) {
  if (start_router(kNets, nullptr, kCreditsOfKfi)) connect_to(to);
}

void RoutedFlow::connect_to(const Nid& to) {
  ends = {.from = nid_of(kClient, 0), .to = to, .source = {}, .sink = {}};
  router->know(ends.from);
  router->know(ends.to);
  router->turn();
  ends.source = dial(kClient, 0, socklnd::ConnectionType::kBulkOut);
}

FlowEnds RoutedFlow::connect() {
  const std::uint32_t client = kClient + 2 * flows_;
  const std::uint32_t server = kServer + 2 * flows_;
  ++flows_;
  FlowEnds fresh{.from = nid_of(client, 0), .to = nid_of(server, 1), .source = {}, .sink = {}};
  router->know(fresh.from);
  router->know(fresh.to);
  router->turn();  // sets its clock
  fresh.source = dial(client, 0, socklnd::ConnectionType::kBulkOut);
  fresh.sink = dial(server, 1, socklnd::ConnectionType::kBulkIn);
  return fresh;
}

bool RoutedFlow::start_router(std::uint16_t nets, const OtherNet* other, std::int32_t peer_credits,
                              std::uint32_t relay_bytes_min) {
  TcpNodeSetup setup{.address = kRouter,
                     .nets = nets,
                     .peer_credits = peer_credits,
                     .reserved_ports = false,
                     .routing = true,
                     .relay_bytes_min = relay_bytes_min,
                     .other = other,
                     .clock = &clock};
  for (setup.port = 21'100; setup.port < 21'200; ++setup.port) {
    router = std::make_unique<TcpNode>(setup);
    if (router->listen()) return true;
  }
  return false;
}

TcpSocket RoutedFlow::dial(std::uint32_t address, std::uint16_t net, socklnd::ConnectionType type) {
  TcpSocket socket = bound(address);
  if (!socket.valid()) return {};
  (void)drivers::set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  drivers::TcpStats unread;
  drivers::TcpCongestion(std::string(drivers::TcpCongestion::kAuto), unread).choose(socket.get());
  const drivers::SystemAddress to(socket_address(kRouter, router->port()));
  if (::connect(socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS) return {};
  const bool met = introduce(socket, nid_of(address, net), router->nids()[net], type);
  return met ? std::move(socket) : TcpSocket{};
}

bool RoutedFlow::introduce(const TcpSocket& socket, const Nid& self, const Nid& router_nid,
                           socklnd::ConnectionType type) {
  std::array<std::byte, socklnd::kAcceptorV2Bytes + socklnd::kHelloV4Bytes> words{};
  const std::span out(words);
  std::size_t length =
      socklnd::encode_acceptor_request(router_nid, out.first<socklnd::kAcceptorV2Bytes>());
  const auto hello = socklnd::encode_hello({.source = self,
                                            .destination = router_nid,
                                            .destination_pid = lnet::kLustrePid,
                                            .source_incarnation = 1,
                                            .type = static_cast<std::int32_t>(type)},
                                           out.subspan(length).first<socklnd::kHelloV4Bytes>());
  if (!hello) return false;
  length += *hello;
  socklnd::HelloReader answer;
  std::size_t sent = 0;
  for (unsigned turns = 0; turns < kTurnsToMeet && answer.reading(); ++turns) {
    router->turn();
    const auto rest = out.first(length).subspan(sent);
    const ssize_t more =
        rest.empty() ? 0 : ::send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (more > 0) sent += static_cast<std::size_t>(more);
    std::byte one{};
    if (::recv(socket.get(), &one, 1, 0) == 1) (void)answer.take({&one, 1});
  }
  return answer.state() == socklnd::HelloReader::State::kDone;
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/tcp_driver.hpp"

#include <algorithm>

#include "apps/assembly/tcp_host.hpp"
#include "lib/runtime/host/link_speed.hpp"
#include "lib/runtime/host/local_addresses.hpp"

namespace plnet::apps {
namespace {

class TcpMaker final : public NetworkMaker {
 public:
  explicit TcpMaker(const DriverSetup& setup) : setup_(setup), tcp_(*setup.tcp) {}

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
        .start = setup_.clock->now(),
        .complaints = &tcp_.place(shard).complaints()};
    return std::make_unique<socklnd::EnrolledLnd>(config, port, tcp_.place(shard).inbox());
  }
  Outcome<void> open(const lnet::NiSetup& ni) override { return tcp_.open_ni(ni.nid); }
  void close(const lnet::NiSetup& ni) override { tcp_.close_ni(ni.nid); }

 private:
  const DriverSetup setup_;
  TcpHost& tcp_;
};

// "" if no interface that is up has it, or only the loopback interface.
std::string interface_of(const lnet::Nid& nid) {
  const auto known = runtime::local_addresses(true);
  if (!known) return {};
  const auto has_it = [&](const runtime::LocalAddress& each) {
    return each.up && !each.loopback && each.is_v6 == nid.is_large() &&
           each.bytes_be == nid.address_be;
  };
  const auto found = std::ranges::find_if(*known, has_it);
  return found == known->end() ? std::string{} : found->interface;
}

}  // namespace

lnet::NiTunables TcpDriver::defaults(const NetworkOptions& options) const {
  const socklnd::Tunables& tunables = options.tcp.tunables;
  // An export names the number that nobody has chosen, too.
  const bool nobody_chose = tunables.peer_credits == socklnd::Tunables{}.peer_credits;
  return {.peer_timeout_s = static_cast<std::int32_t>(tunables.peer_timeout),
          .peer_credits = static_cast<std::int32_t>(tunables.peer_credits),
          .peer_buffer_credits = static_cast<std::int32_t>(tunables.peer_buffer_credits),
          .credits = static_cast<std::int32_t>(tunables.credits),
          .lends_credits = nobody_chose};
}

// As the kernel has it: what stands there afterwards is what is in force.
// lustre-release lnet/klnds/socklnd/socklnd.c: ksocknal_startup()
Outcome<void> TcpDriver::complete(const lnet::NiConfig& ni, const NetworkOptions& options,
                                  Duration lnet_timeout, lnet::NiSetup& setup) const {
  const socklnd::Tunables tunables = tunables_of_ni(options.tcp.tunables, ni.lnd_tunables);
  if (setup.interfaces.empty()) {
    if (std::string interface = interface_of(setup.nid); !interface.empty())
      setup.interfaces.push_back(std::move(interface));
  }
  const std::uint32_t mbps =
      setup.interfaces.empty() ? 0 : runtime::link_speed_mbps(setup.interfaces.front());
  const Duration timeout = lnd_timeout(tunables, lnet_timeout);
  setup.lnd_tunables = {
      {"conns_per_peer", std::int64_t{connections_per_peer(tunables, mbps)}},
      {"timeout", std::chrono::duration_cast<std::chrono::seconds>(timeout).count()},
      {"tos", tunables.tos}};
  if (tunables.sock_timeout != 0) setup.lnd_timeout = timeout;  // else it follows LNet's
  return {};
}

std::unique_ptr<NetworkMaker> TcpDriver::maker(lnet::NetType /*type*/,
                                               const DriverSetup& setup) const {
  return std::make_unique<TcpMaker>(setup);
}

}  // namespace plnet::apps

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/environment.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

namespace {

ConnectionQuota quota_of(const SockLndConfig& config) {
  // A peer that does not trust our ports takes each connection for a process of its own.
  if (!config.privileged) return {.control = 1, .bulk = 0};
  const unsigned bulk = connections_per_peer(config.tunables, config.link_mbps);
  return {.control = 1, .bulk = static_cast<std::uint16_t>(bulk)};
}

}  // namespace

std::uint32_t bulk_bytes_min(const SockLndConfig& config) {
  const auto head = static_cast<std::int64_t>(
      kFrameBytes + (config.nid.is_large() ? lnet::kHeaderNid16Bytes : lnet::kHeaderNid4Bytes));
  return static_cast<std::uint32_t>(std::max<std::int64_t>(config.tunables.min_bulk - head, 0));
}

SocketAddress address_of(const lnet::Nid& nid, std::int64_t port) {
  PLNET_CHECK(port >= 0 && port <= UINT16_MAX, "a port has 16 bits");
  SocketAddress address{.port = static_cast<std::uint16_t>(port)};
  if (nid.is_large()) {
    std::ranges::copy(nid.address_be, address.ip.begin());
    return address;
  }
  address.ip[10] = address.ip[11] = 0xff;
  std::copy_n(nid.address_be.begin(), 4, address.ip.begin() + 12);
  return address;
}

Environment::Environment(const SockLndConfig& the_config, lnet::LndUpcalls& the_core,
                         StreamSwitch& the_streams)
    : config(the_config),
      timeout(lnd_timeout(the_config.tunables, the_config.lnet_lnd_timeout)),
      quota(quota_of(the_config)),
      core(the_core),
      streams(the_streams) {
  PLNET_CHECK(config.arenas != nullptr, "payload lies in arenas");
  PLNET_CHECK(config.nid.is_of(lnet::NetType::kTcp), "the NID is of a tcp network");
  PLNET_CHECK(timeout > Duration{}, "the LND timeout is positive");
  PLNET_CHECK(config.peers_max > 0 && config.connections_max > 0, "an LND has room for a peer");
  PLNET_CHECK(quota.control > 0, "a peer has a control connection");
}

void Environment::complain(const lnet::Nid& nid, Id why) const {
  if (config.complaints == nullptr) return;
  const auto row = static_cast<std::size_t>(why);
  config.complaints->tell({.nid = nid, .cause = SockLndCounters::kInfo[row].name});
}

void Environment::set_tunables(const Tunables& tunables) {
  config.tunables = tunables;
  timeout = lnd_timeout(tunables, config.lnet_lnd_timeout);
  PLNET_CHECK(timeout > Duration{}, "the LND timeout is positive");
  quota = quota_of(config);
  PLNET_CHECK(quota.control > 0, "a peer has a control connection");
}

}  // namespace plnet::socklnd

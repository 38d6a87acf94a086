// SPDX-License-Identifier: BSD-3-Clause
// What serves NIs of some kind of network, as the node sees it.
#pragma once

#include <memory>
#include <string_view>

#include "apps/assembly/tcp_options.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::apps {

class TcpHost;

// What drivers need of the node that their devices belong to.
struct DriverSetup {
  const ArenaTable* arenas = nullptr;
  std::size_t messages = 0;  // that may be under way on a shard
  std::size_t peers = 0;     // that a shard may talk to
  const Clock* clock = nullptr;
  TcpHost* tcp = nullptr;
};

// Makes the LNDs of NIs, and what they share.
class NetworkMaker : public lnet::LndMaker {
 public:
  // Shard 0, before the NI is added: from now on others may call it. Fails with what to do about
  // it.
  [[nodiscard]] virtual Outcome<void> open(const lnet::NiSetup& /*ni*/) { return {}; }
  // Shard 0, when it has been removed, or could not be added.
  virtual void close(const lnet::Nid& /*nid*/) {}
};

class NetworkDriver {
 public:
  virtual ~NetworkDriver() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool serves(lnet::NetType /*type*/) const { return true; }
  // Of an NI that asks for nothing.
  [[nodiscard]] virtual lnet::NiTunables defaults(const TcpOptions& /*options*/) const {
    return {};
  }
  // What only the driver knows of an NI. The admin thread; may look at the machine. Without one of
  // its own it has LNet's timeout.
  [[nodiscard]] virtual Outcome<void> complete(const lnet::NiConfig& ni,
                                               const TcpOptions& /*options*/,
                                               Duration /*lnet_timeout*/,
                                               lnet::NiSetup& setup) const {
    setup.lnd_tunables = ni.lnd_tunables;
    return {};
  }
  // For all NIs of this type; lives as long as they do.
  [[nodiscard]] virtual std::unique_ptr<NetworkMaker> maker(lnet::NetType type,
                                                            const DriverSetup& setup) const = 0;
};

}  // namespace plnet::apps

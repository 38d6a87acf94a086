// SPDX-License-Identifier: BSD-3-Clause
// What serves NIs of some kind of network, as the node sees it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "apps/assembly/tcp_options.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::apps {

class KfiHost;
class TcpHost;

// What the drivers go by besides an NI's own configuration.
struct NetworkOptions {
  // NOLINTNEXTLINE(google-explicit-constructor): most of them are TCP's
  NetworkOptions(const TcpOptions& of_tcp = {}, const KfiHost* of_kfi = nullptr)
      : tcp(of_tcp), kfi(of_kfi) {}

  TcpOptions tcp;
  const KfiHost* kfi;  // null: this node has no NICs for kfi networks
};

// What drivers need of the node that their devices belong to.
struct DriverSetup {
  const ArenaTable* arenas = nullptr;
  std::size_t messages = 0;  // that an LND may have under way on a shard; more wait
  std::size_t peers = 0;     // that a shard may talk to
  const Clock* clock = nullptr;
  Duration lnet_lnd_timeout = std::chrono::seconds(50);  // where a driver has none of its own
  lnet::Node* node = nullptr;
  TcpHost* tcp = nullptr;
  KfiHost* kfi = nullptr;
};

// Makes the LNDs of NIs, and what they share.
class NetworkMaker : public lnet::LndMaker {
 public:
  // Shard 0, before the NI is added: from now on others may call it. Fails with what to do about
  // it.
  [[nodiscard]] virtual Outcome<void> open(const lnet::NiSetup& /*ni*/) { return {}; }
  // Shard 0, when it could not be added after that.
  virtual void not_added(const lnet::NiSetup& ni) { close(ni); }
  // Shard 0, when it is about to be removed.
  virtual void close(const lnet::NiSetup& /*ni*/) {}
};

class NetworkDriver {
 public:
  virtual ~NetworkDriver() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool serves(lnet::NetType /*type*/) const { return true; }
  // Of an NI that asks for nothing.
  [[nodiscard]] virtual lnet::NiTunables defaults(const NetworkOptions& /*options*/) const {
    return {};
  }
  // What only the driver knows of an NI. The admin thread; may look at the machine. Without one of
  // its own it has LNet's timeout.
  [[nodiscard]] virtual Outcome<void> complete(const lnet::NiConfig& ni,
                                               const NetworkOptions& /*options*/,
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

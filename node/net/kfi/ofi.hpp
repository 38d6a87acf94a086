// SPDX-License-Identifier: BSD-3-Clause
// A kfi network on libfabric: what an NI has of a provider, and what an interface is there. A build
// without libfabric has the same calls, which say so.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/result.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"
#include "node/net/kfi/settings.hpp"

namespace plnet::node {

// An endpoint with what it stands on; both are the same object.
class KfiOfi {
 public:
  virtual ~KfiOfi() = default;
  [[nodiscard]] virtual kfilnd::EndpointDriver& driver() = 0;
  [[nodiscard]] virtual Pollable& pollable() = 0;
};

struct KfiOfiRequest {
  std::uint32_t process = 0;  // as kfilnd asks for it: service_of()
  unsigned contexts = 1;      // of the process, each with an endpoint of its own
  std::uint8_t context = 0;   // which of them this one is
  unsigned operations_max = 0;
  std::uint64_t seed = 0;  // another at each start
  // After which kfilnd ends a transaction: a peer that is not there has to be told well before, or
  // it looks as if our own NIC had failed.
  Duration lnd_timeout{};
};

// What peers reach it by, and the number in its NID.
[[nodiscard]] std::uint32_t ofi_address(const KfiInterface& interface);
// How many shards can serve an interface.
[[nodiscard]] unsigned ofi_contexts_max();
// Whether the provider is there.
[[nodiscard]] Outcome<void> try_ofi(const KfiInterface& interface);
[[nodiscard]] Outcome<std::unique_ptr<KfiOfi>> open_ofi(const KfiInterface& interface,
                                                        const KfiOfiRequest& request,
                                                        const ArenaTable& arenas,
                                                        kfilnd::EndpointEvents& events);

}  // namespace plnet::node

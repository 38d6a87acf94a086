// SPDX-License-Identifier: BSD-3-Clause
// A kfi network on libfabric: endpoints for NIs, and facts about an interface. In a build without
// libfabric try_ofi() and open_ofi() fail.
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

// An endpoint with its device. Driver and pollable are the same object.
class KfiOfi {
 public:
  virtual ~KfiOfi() = default;
  [[nodiscard]] virtual kfilnd::EndpointDriver& driver() = 0;
  [[nodiscard]] virtual Pollable& pollable() = 0;
};

struct KfiOfiRequest {
  std::uint32_t process = 0;  // service_of() of the NID
  unsigned contexts = 1;      // of the process, each with an endpoint
  std::uint8_t context = 0;   // the number of this one
  unsigned operations_max = 0;
  std::uint64_t seed = 0;  // different at each start
  // The time of a kfilnd transaction. Attempts to reach an absent peer must fail well before it;
  // otherwise it looks like a failure of this NIC.
  Duration lnd_timeout{};
};

// The address that peers reach the interface by, which is also the number in the NID.
[[nodiscard]] std::uint32_t ofi_address(const KfiInterface& interface);
// The most shards that can serve an interface.
[[nodiscard]] unsigned ofi_contexts_max();
// Whether the provider can be opened.
[[nodiscard]] Outcome<void> try_ofi(const KfiInterface& interface);
[[nodiscard]] Outcome<std::unique_ptr<KfiOfi>> open_ofi(const KfiInterface& interface,
                                                        const KfiOfiRequest& request,
                                                        const ArenaTable& arenas,
                                                        kfilnd::EndpointEvents& events);

}  // namespace plnet::node

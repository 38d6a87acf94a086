// SPDX-License-Identifier: BSD-3-Clause
// The functions of ofi.hpp in a build without libfabric.
#include "node/net/kfi/ofi.hpp"

namespace plnet::node {
namespace {

std::unexpected<Error> missing() {
  return failure(Errc::kNotSupported, "backend ofi: this program was built without libfabric");
}

}  // namespace

std::uint32_t ofi_address(const KfiInterface& interface) {
  return static_cast<std::uint32_t>(interface.address);
}

unsigned ofi_contexts_max() {
  return 1;
}

Outcome<void> try_ofi(const KfiInterface& /*interface*/) {
  return missing();
}

Outcome<std::unique_ptr<KfiOfi>> open_ofi(const KfiInterface& /*interface*/,
                                          const KfiOfiRequest& /*request*/,
                                          const ArenaTable& /*arenas*/,
                                          kfilnd::EndpointEvents& /*events*/) {
  return missing();
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
// A build without libibverbs or librdmacm.
#include "node/net/o2ib/adapter.hpp"

namespace plnet::node {

O2ibAdapterOpener verbs_adapter_opener() {
  return [](std::uint32_t /*address*/,
            const ArenaTable& /*arenas*/) -> Outcome<std::unique_ptr<O2ibAdapter>> {
    return failure(Errc::kNotSupported,
                   "this plnet was built without libibverbs and librdmacm: install libibverbs-dev "
                   "and librdmacm-dev, and build it anew");
  };
}

}  // namespace plnet::node

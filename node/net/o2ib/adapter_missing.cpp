// SPDX-License-Identifier: BSD-3-Clause
// A build without libibverbs or librdmacm.
#include "node/net/o2ib/adapter.hpp"

namespace plnet::node {

Outcome<std::unique_ptr<O2ibAdapter>> open_verbs_adapter(std::uint32_t /*address*/,
                                                         const ArenaTable& /*arenas*/) {
  return failure(Errc::kNotSupported,
                 "this plnet was built without libibverbs and librdmacm: install libibverbs-dev "
                 "and librdmacm-dev, and build it anew");
}

}  // namespace plnet::node

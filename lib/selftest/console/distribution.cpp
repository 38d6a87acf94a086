// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/distribution.hpp"

#include <cstring>

#include "lib/lnet/wire/process_id_codec.hpp"
#include "lib/selftest/srpc_tests.hpp"

namespace plnet::selftest {

std::uint32_t write_destinations(const Distribution& distribution, std::uint32_t client,
                                 std::span<const lnet::ProcessId> servers, std::uint32_t features,
                                 std::span<std::byte> page) {
  PLNET_CHECK(distribution.possible() && distribution.servers == servers.size(),
              "a distribution over other servers");
  PLNET_CHECK(page.size() == kListPageBytes, "a list is a page");
  std::memset(page.data(), 0, page.size());
  for (std::uint32_t nth = 0; nth < distribution.span; ++nth) {
    const auto entry = page.subspan(destination_offset(nth)).first<lnet::kProcessIdBytes>();
    const bool whole = lnet::encode_process_id(servers[distribution.server_of(client, nth)], entry);
    PLNET_CHECK(whole, "a NID that the list has no room for");
  }
  if ((features & kFeatureBulkLength) == 0) return kListPageBytes;
  return distribution.span * kDestinationBytes;
}

}  // namespace plnet::selftest

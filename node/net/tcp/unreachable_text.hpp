// SPDX-License-Identifier: BSD-3-Clause
// The likely reasons why a peer's TCP port cannot be connected, for people.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/runtime/host/local_addresses.hpp"

namespace plnet::node {

// `local`: the addresses of this host; without any, subnets are left out.
[[nodiscard]] std::string unreachable_text(const lnet::Nid& peer, std::int64_t port, Errc trouble,
                                           std::span<const runtime::LocalAddress> local);

}  // namespace plnet::node

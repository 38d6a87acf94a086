// SPDX-License-Identifier: BSD-3-Clause
// Host names in NIDs: `mds1@tcp` is the NID of the host's address, as the kernel's tool takes it.
// Checked against lustre-release lnet/lnet/nidstrings.c and its user-space part: a NID whose
// address does not parse is looked up by gethostbyname().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::apps {

// The address of a host as text; nullopt: it has none.
using HostLookup = std::function<std::optional<std::string>(const std::string& host)>;
// Asks the system's resolver for an IPv4 address.
[[nodiscard]] std::optional<std::string> look_up_host(const std::string& host);

// The list of NIDs with an address in the place of each host name; all else stays as it is. kIo: a
// host has no address.
[[nodiscard]] Outcome<std::string> with_addresses(std::string_view nids, const HostLookup& look_up);

}  // namespace plnet::apps

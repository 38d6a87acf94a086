// SPDX-License-Identifier: BSD-3-Clause
// The module parameter `ip2nets`: the networks of a node by its addresses. "tcp0(eth0)
// 192.168.0.[2,4]; o2ib0 132.6.[1-3].[2-8/2]". Checked against lustre-release lnet/lnet/config.c:
// lnet_match_networks(), lnet_splitnets().
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/address_pattern.hpp"
#include "lib/lnet/names/networks_text.hpp"

namespace plnet::lnet {

struct Ip2NetsRule {
  std::vector<NetworkSpec> networks;
  std::vector<AddressPattern> patterns;  // at least one

  [[nodiscard]] bool matches(std::span<const IpAddress> local_addresses) const;
};

// Unlike the kernel, this reads all of every rule, even of rules that do not match, and accepts
// prefixes (10.0.0.0/8) and IPv6 as patterns.
[[nodiscard]] Outcome<std::vector<Ip2NetsRule>> parse_ip2nets(std::string_view text,
                                                              unsigned cpt_count = kCptsMax);

// The joined networks of all rules that match. kNotFound: no rule matches.
[[nodiscard]] Outcome<std::vector<NetworkSpec>> match_ip2nets(
    std::span<const Ip2NetsRule> rules, std::span<const IpAddress> local_addresses);

}  // namespace plnet::lnet

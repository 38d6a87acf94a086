// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/ip2nets_text.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

namespace {

Outcome<Ip2NetsRule> parse_rule(const TextPart& entry, unsigned cpt_count) {
  const auto words = split_words(entry);
  Ip2NetsRule rule;
  auto networks = parse_network_entries(words.front(), cpt_count);
  if (!networks) return std::unexpected(std::move(networks.error()));
  for (NetworkEntry& network : *networks) {
    const auto same = [&](const auto& other) { return other.net == network.spec.net; };
    if (std::ranges::any_of(rule.networks, same)) {
      return network.where.error_at("network " + text_of_net(network.spec.net) +
                                    " stands twice in one rule");
    }
    rule.networks.push_back(std::move(network.spec));
  }
  if (words.size() == 1) {
    return entry.expected("an address pattern such as 192.168.*.* after the networks",
                          entry.size());
  }
  for (const TextPart& word : std::span(words).subspan(1)) {
    auto pattern = parse_address_pattern(word, AddressStyle::kIpv4Ipv6);
    if (!pattern) return std::unexpected(std::move(pattern.error()));
    rule.patterns.push_back(std::move(*pattern));
  }
  return rule;
}

}  // namespace

bool Ip2NetsRule::matches(std::span<const IpAddress> local_addresses) const {
  return std::ranges::any_of(patterns, [&](const AddressPattern& pattern) {
    return std::ranges::any_of(local_addresses,
                               [&](const IpAddress& address) { return pattern.matches(address); });
  });
}

Outcome<std::vector<Ip2NetsRule>> parse_ip2nets(std::string_view text, unsigned cpt_count) {
  const TextPart whole(text);
  if (text.size() > kNamesTextMax) return whole.expected("at most 4096 letters", kNamesTextMax);
  std::vector<Ip2NetsRule> rules;
  for (const TextPart& entry : split_entries(whole)) {
    auto rule = parse_rule(entry, cpt_count);
    if (!rule) return std::unexpected(std::move(rule.error()));
    rules.push_back(std::move(*rule));
  }
  return rules;
}

Outcome<std::vector<NetworkSpec>> match_ip2nets(std::span<const Ip2NetsRule> rules,
                                                std::span<const IpAddress> local_addresses) {
  std::vector<NetworkSpec> networks;
  bool matched = false;
  for (const Ip2NetsRule& rule : rules) {
    if (!rule.matches(local_addresses)) continue;
    matched = true;
    // Overlapping rules that name the same interface are normal.
    for (const NetworkSpec& network : rule.networks)
      (void)add_network(network, networks);
  }
  if (matched) return networks;
  std::string addresses;
  for (const IpAddress& address : local_addresses)
    addresses += ' ' + text_of(address);
  return failure(Errc::kNotFound, "ip2nets: none of " + std::to_string(rules.size()) +
                                      " rules matches a local address, expected one for any of:" +
                                      (addresses.empty() ? " (no addresses)" : addresses));
}

}  // namespace plnet::lnet

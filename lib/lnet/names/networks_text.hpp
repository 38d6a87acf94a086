// SPDX-License-Identifier: BSD-3-Clause
// The module parameter `networks`: "tcp0(eth0,eth1[0]),o2ib(ib0)[0,1]".
// Checked against lustre-release lnet/lnet/config.c: lnet_parse_networks().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/names/text_part.hpp"

namespace plnet::lnet {

struct InterfaceSpec {
  std::string name;                 // empty: the first interface that fits
  std::vector<std::uint16_t> cpts;  // in the order written; empty: every CPT

  friend bool operator==(const InterfaceSpec&, const InterfaceSpec&) = default;
};

struct NetworkSpec {
  NetId net = kNetAny;
  std::vector<InterfaceSpec> interfaces;  // at least one

  friend bool operator==(const NetworkSpec&, const NetworkSpec&) = default;
};

// Networks in order of first appearance; "lo" is left out, since it always exists. An empty text
// yields no network; LNet then uses tcp on the first interface. CPTs in "[...]" are for the
// interface before them, or for every interface of the network without its own; they may stand
// before or after the list of interfaces. A list of all `cpt_count` CPTs is no restriction and
// comes out empty.
[[nodiscard]] Outcome<std::vector<NetworkSpec>> parse_networks(std::string_view text,
                                                               unsigned cpt_count = kCptsMax);
[[nodiscard]] std::string text_of(const std::vector<NetworkSpec>& networks);

// One network of the text, before networks of the same name are joined.
struct NetworkEntry {
  NetworkSpec spec;
  TextPart where;
};
[[nodiscard]] Outcome<std::vector<NetworkEntry>> parse_network_entries(const TextPart& part,
                                                                       unsigned cpt_count);
// Joins `spec` to a network of the same name, or appends it. Returns the name of an interface that
// the network already had (maybe ""), null if it had none.
const std::string* add_network(const NetworkSpec& spec, std::vector<NetworkSpec>& networks);

}  // namespace plnet::lnet

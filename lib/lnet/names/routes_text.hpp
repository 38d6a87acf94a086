// SPDX-License-Identifier: BSD-3-Clause
// The module parameter `routes`: "o2ib[1-3] 1 10.0.0.[1-4]@tcp:2; gni 10.0.0.9@tcp".
// Checked against lustre-release lnet/lnet/config.c: lnet_parse_route(), lnet_str2tbs_expand().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

inline constexpr int kHopsUndefined = -1;
inline constexpr int kHopsMax = 255;
// A text of 4096 letters can name millions of routes. No site has that many, and the kernel's 64
// KiB of text buffers end at about this number.
inline constexpr std::size_t kRoutesMax = 4096;

struct RouteSpec {
  NetId net = kNetAny;
  Nid gateway;
  int hops = kHopsUndefined;
  std::uint32_t priority = 0;
  // From the module option, which is the same on all nodes of a site: left out on nodes that cannot
  // use it.
  bool of_site = false;

  friend bool operator==(const RouteSpec&, const RouteSpec&) = default;
};

// Every network of an entry with every gateway of it, brackets expanded, the rightmost fastest. A
// gateway that is a NID of this node stays in the list: it makes this node a router. The priority
// is that of its own gateway (the kernel gives the last one of an entry to all of them).
[[nodiscard]] Outcome<std::vector<RouteSpec>> parse_routes(std::string_view text);

}  // namespace plnet::lnet

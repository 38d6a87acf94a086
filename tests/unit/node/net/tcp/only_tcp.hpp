// SPDX-License-Identifier: BSD-3-Clause
// The network families of a node with TCP alone.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "node/host/open_families.hpp"
#include "node/net/tcp/family.hpp"
#include "node/net/tcp/host.hpp"

namespace plnet::node {

inline Families only_tcp() {
  static const TcpFamily tcp;
  static const std::array<const NetworkFamily*, 1> families{&tcp};
  return families;
}

inline OpenFamilies opened(std::unique_ptr<TcpHost> tcp) {
  std::vector<std::unique_ptr<FamilyHost>> hosts;
  hosts.push_back(std::move(tcp));
  return OpenFamilies(only_tcp(), std::move(hosts));
}

}  // namespace plnet::node

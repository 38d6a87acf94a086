// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/families.hpp"

#include <array>

#include "node/net/kfi/family.hpp"
#include "node/net/null/family.hpp"
#include "node/net/o2ib/family.hpp"
#include "node/net/tcp/family.hpp"

namespace plnet::node {
namespace {

template <class Family>
const Family kFamily{};

constexpr std::array<const NetworkFamily*, 4> kFamilies{
    &kFamily<NullFamily>,
    &kFamily<TcpFamily>,
    &kFamily<KfiFamily>,
    &kFamily<O2ibFamily>,
};

}  // namespace

Families network_families() {
  return kFamilies;
}

}  // namespace plnet::node

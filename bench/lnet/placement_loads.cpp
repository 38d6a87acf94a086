// SPDX-License-Identifier: BSD-3-Clause
// The distribution of peers over CPTs, for scripts/draw_placement.py: a line of CSV for each rule,
// pattern of addresses, number of CPTs and number of peers.
#include <algorithm>
#include <cstdio>

#include "lib/lnet/peers/placement.hpp"
#include "tests/mocks/fabric_addresses.hpp"

int main() {
  using namespace plnet;
  std::puts("rule,pattern,cpts,peers,max_over_mean,idle_cpts");
  for (const auto rule :
       {lnet::PlacementRule::kV217, lnet::PlacementRule::kV215, lnet::PlacementRule::kBalanced}) {
    for (const auto pattern : tests::kAddressPatterns) {
      for (unsigned cpts = 2; cpts <= 64; ++cpts) {
        for (const unsigned peers : {64U, 128U, 256U, 1000U, 4000U}) {
          lnet::ShardsOfCpts shards;
          for (unsigned cpt = 0; cpt < cpts; ++cpt)
            shards.push_back({static_cast<lnet::ShardId>(cpt)});
          const auto placement = lnet::make_placement(rule, std::move(shards));
          std::vector<unsigned> loads(cpts);
          for (const lnet::Nid& nid : tests::fabric_nids(pattern, peers))
            ++loads[placement->choose(nid, {}).cpt];
          std::printf("%.*s,%.*s,%u,%u,%.4f,%zu\n", static_cast<int>(name_of(rule).size()),
                      name_of(rule).data(), static_cast<int>(name_of(pattern).size()),
                      name_of(pattern).data(), cpts, peers,
                      static_cast<double>(std::ranges::max(loads)) * cpts / peers,
                      static_cast<std::size_t>(std::ranges::count(loads, 0U)));
        }
      }
    }
  }
}

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/listed_addresses.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

void ListedAddresses::learn(const lnet::Nid& nid, std::span<const std::uint32_t> addresses) {
  PLNET_CHECK(addresses.size() <= kHelloAddressesMax, "a HELLO lists no more");
  auto list = std::ranges::find(lists_, nid, &List::nid);
  if (list == lists_.end()) {
    if (addresses.empty()) return;
    if (lists_.size() < kNidsMax) {
      lists_.emplace_back();
      list = lists_.end() - 1;
    } else {
      list = lists_.begin() + static_cast<std::ptrdiff_t>(next_);
      next_ = (next_ + 1) % kNidsMax;
    }
    list->nid = nid;
  }
  list->count = static_cast<std::uint32_t>(addresses.size());
  std::ranges::copy(addresses, list->addresses.begin());
  PLNET_CHECK(lists_.size() <= kNidsMax && next_ < kNidsMax, "the number of lists is bounded");
}

bool ListedAddresses::lists(const lnet::Nid& nid, std::uint32_t address) const {
  const auto list = std::ranges::find(lists_, nid, &List::nid);
  if (list == lists_.end()) return false;
  const auto known = std::span(list->addresses).first(list->count);
  return std::ranges::find(known, address) != known.end();
}

}  // namespace plnet::socklnd

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/srpc_wire.hpp"

#include <algorithm>

namespace plnet::selftest {

std::string_view text_of(const Name& name) {
  return {name.begin(), std::find(name.begin(), name.end(), '\0')};
}

Name name_from(std::string_view text) {
  Name name{};
  std::ranges::copy(text.substr(0, name.size() - 1), name.begin());
  return name;
}

}  // namespace plnet::selftest

// SPDX-License-Identifier: BSD-3-Clause
// One of an NI's `lnd tunables`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace plnet::lnet {

// What it means only the network driver knows.
struct LndTunable {
  std::string name;
  std::variant<std::int64_t, std::string> value;

  friend bool operator==(const LndTunable&, const LndTunable&) = default;
};

}  // namespace plnet::lnet

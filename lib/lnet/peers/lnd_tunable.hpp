// SPDX-License-Identifier: BSD-3-Clause
// An entry of an NI's `lnd tunables`.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace plnet::lnet {

// Only the network driver interprets it.
struct LndTunable {
  std::string name;
  std::variant<std::int64_t, std::string> value;

  friend bool operator==(const LndTunable&, const LndTunable&) = default;
};

}  // namespace plnet::lnet

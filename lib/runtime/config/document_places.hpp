// SPDX-License-Identifier: BSD-3-Clause
// Places of errors that only the machine or a part of the node finds: "file:line:column" in a
// document or a file of modprobe.d, or "" if the text has no such place. The texts have been read
// before.
#pragma once

#include <string>
#include <string_view>

#include "lib/lnet/node/node_config.hpp"

namespace plnet::runtime {

struct SourceText {
  std::string_view text;
  std::string_view file;
};

// A key at the top level.
[[nodiscard]] std::string place_of_key(const SourceText& document, std::string_view key);
// The item of `plnet.module_options` with this name: "ksocklnd.credits".
[[nodiscard]] std::string place_of_option(const SourceText& document, std::string_view option);
// The NI of this network with the same NID, or with one of its interfaces.
[[nodiscard]] std::string place_of_ni(const SourceText& document, lnet::NetId net,
                                      const lnet::NiConfig& ni);
// In a file of modprobe.d: the last one, which is in force.
[[nodiscard]] std::string place_of_modprobe_option(const SourceText& options,
                                                   std::string_view option);

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/router_options.hpp"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "lib/lnet/node/router_options.hpp"
#include "lib/runtime/config/yaml_text.hpp"

namespace plnet::apps {

Outcome<void> take_router_options(const lnet::NodeConfig& config, lnet::Parameters& parameters) {
  for (const lnet::RouterOption& option : lnet::kRouterOptions) {
    const std::string_view text = config.module_option("lnet", option.name);
    if (text.empty()) continue;
    const auto number = runtime::parse_integer(text);
    if (!number || *number < option.least || *number > option.most) {
      return failure(Errc::kInvalid,
                     fmt::format("options lnet {}={}: expected a number from {} to {}", option.name,
                                 text, option.least, option.most));
    }
    (parameters.*option.member).set(static_cast<std::int32_t>(*number));
  }
  return {};
}

}  // namespace plnet::apps

// SPDX-License-Identifier: BSD-3-Clause
// /etc/lnet_routes.conf, which a kernel node loads by lustre_routes_config: a line for each
// network, `tcp1: { gateway: 10.0.0.[1-2]@tcp, hop: 1, priority: 0 }`.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::apps {

// True: the first line that is no comment has this form.
[[nodiscard]] bool is_routes_file(std::string_view text);

// The same routes as a document that `import` takes, each on its line. The error has the line.
[[nodiscard]] Outcome<std::string> document_of_routes(std::string_view text,
                                                      std::string_view file_name);

}  // namespace plnet::apps

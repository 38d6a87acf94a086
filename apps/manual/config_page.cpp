// SPDX-License-Identifier: BSD-3-Clause
#include "apps/manual/config_page.hpp"

#include <fmt/format.h>

#include "apps/manual/program_page.hpp"
#include "lib/runtime/config/schema_rendering.hpp"

namespace plnet::manual {

std::string config_page(const runtime::Schema& schema) {
  FilePage page{.name = "plnet.yaml",
                .help = "configuration of a plnet node",
                .text =
                    "A YAML document, read by lnet-router --config and by lnetctl import. "
                    "Every key may be left out. The document may also be an export of the "
                    "kernel's lnetctl. lnet-router --print-config prints a file with every "
                    "default. In the names of keys, [] stands for the items of a list."};
  for (const runtime::KeyRow& row : runtime::key_rows(schema)) {
    std::string text = row.help;
    if (!row.value.empty())
      text += fmt::format(" ({}; takes effect {})", row.value, row.when_applied);
    text += ".";
    if (!row.fallback.empty()) text += fmt::format(" Default: {}", row.fallback);
    page.keys.push_back({row.path, std::move(text)});
  }
  return mdoc_of(page);
}

}  // namespace plnet::manual

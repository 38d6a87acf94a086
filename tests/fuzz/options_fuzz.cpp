// SPDX-License-Identifier: BSD-3-Clause
// Files of modprobe.d, and with them the texts of networks, ip2nets and routes, against anything.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/runtime/config/module_options.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

using namespace plnet;
using namespace plnet::runtime;

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfyaml.so\n";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto options = read_module_options(text, "fuzz");
  if (!options) {
    PLNET_CHECK(!options.error().empty(), "a refusal has a reason");
    return 0;
  }
  PLNET_CHECK(lnet::check_node_config(options->config).empty(), "what is accepted is sound");
  const auto again = read_module_options(text, "fuzz", options->config);
  PLNET_CHECK(again.has_value() && again->config.nets == options->config.nets, "twice is once");
  Settings settings;
  settings.lnet = options->config;
  const auto exported = print_yaml(export_settings(settings, ExportForm::kBackup));
  const auto read = read_settings(exported, "export");
  PLNET_CHECK(read.has_value(), "as a document it can be read");
  // Which of the site's routes are this node's, and whether it is a gateway of them, is seen by
  // then.
  lnet::NodeConfig expected = options->config;
  for (auto& route : expected.routes)
    route.of_site = false;
  expected.routes_if_ours.clear();
  PLNET_CHECK(read->lnet == expected, "and says the same");
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Files of modprobe.d with the options of LNet's kernel modules: `options lnet networks="tcp(eth0)"
// routes="…"`. What they say becomes the same configuration that a document gives.
// Checked against lustre-release lnet/lnet/{api-ni,config,router,acceptor}.c and
// lnet/klnds/*/*_modparams.c: module_param lines.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/config_error.hpp"

namespace plnet::runtime {

struct ModuleOptions {
  lnet::NodeConfig config;
  // What has no effect here, each "file:line:column: what".
  std::vector<std::string> notes;
};

// Lines other than `options`, and options of other modules, are passed over with a note. An option
// of lnet that does not exist, or has a value that it cannot have, is an error. Of an option that
// is given twice the last one counts, as with modprobe. What is not named is as in `base`; networks
// and routes that are named take the place of all that are there.
[[nodiscard]] std::expected<ModuleOptions, ConfigErrors> read_module_options(
    std::string_view text, std::string_view file_name, const lnet::NodeConfig& base = {});

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Files of modprobe.d with the options of LNet's kernel modules: `options lnet networks="tcp(eth0)"
// routes="…"`. They give the same configuration as a document.
// Checked against lustre-release lnet/lnet/{api-ni,config,router,acceptor}.c and
// lnet/klnds/*/*_modparams.c, lnet/selftest/framework.c: module_param lines.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

struct ModuleOptions {
  lnet::NodeConfig config;
  // Options of lnet_selftest, if the text gives them.
  std::optional<std::uint32_t> session_timeout_sec{};
  std::optional<std::uint32_t> rpc_timeout_sec{};
  // Options of libcfs, which is part of lnet since 2.17: the kernel's CPTs.
  std::optional<std::uint32_t> cpu_npartitions{};
  std::optional<std::string> cpu_pattern{};
  // Notes on lines without effect, each "file:line:column: text".
  std::vector<std::string> notes;
};

// Lines other than `options`, and options of other modules, are ignored with a note. An unknown
// option of lnet, or a value out of range, is an error. Of a repeated option the last one counts,
// as with modprobe. Options that the text leaves out keep the values of `base`; its networks and
// routes replace all present ones.
[[nodiscard]] std::expected<ModuleOptions, ConfigErrors> read_module_options(
    std::string_view text, std::string_view file_name, const lnet::NodeConfig& base = {});

// Puts all options into the settings that were the base.
void apply(ModuleOptions options, Settings& settings);

}  // namespace plnet::runtime

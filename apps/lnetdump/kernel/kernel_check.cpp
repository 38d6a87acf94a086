// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/kernel/kernel_check.hpp"

#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace plnet::lnetdump {

namespace {

// Functions of the module lnet only: other modules may have a lnet_parse() of their own.
std::set<std::string> functions_of_lnet(const std::string& root) {
  std::set<std::string> names;
  std::ifstream symbols(root + "/proc/kallsyms");
  for (std::string line; std::getline(symbols, line);) {
    const std::string_view text = line;
    const auto at = text.rfind("\t[lnet]");
    if (at == std::string_view::npos) continue;
    const auto name = text.substr(0, at);
    names.emplace(name.substr(name.rfind(' ') + 1));
  }
  return names;
}

bool is_readable(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

Outcome<void> check_types(const std::string& root, const std::string& type_file) {
  if (!type_file.empty()) {
    if (is_readable(type_file)) return {};
    return failure(Errc::kNotFound, type_file + ": cannot be read");
  }
  if (!is_readable(root + "/sys/kernel/btf/vmlinux")) {
    return failure(Errc::kNotSupported,
                   "this kernel has no type information (BTF): /sys/kernel/btf/vmlinux is not "
                   "there. Use a kernel with CONFIG_DEBUG_INFO_BTF, or a file of tcpdump with -r");
  }
  if (is_readable(root + "/sys/kernel/btf/lnet")) return {};
  return failure(
      Errc::kNotSupported,
      "the module lnet has no type information (BTF): /sys/kernel/btf/lnet is not there. Make it "
      "from the module of the same build with debug information (pahole is in the package "
      "dwarves):\n  pahole --btf_encode_detached=lnet.btf lnet.ko\nand add --lnet-btf lnet.btf");
}

}  // namespace

Outcome<void> check_kernel(const std::string& root, const std::string& type_file) {
  const auto functions = functions_of_lnet(root);
  if (functions.empty()) {
    return failure(Errc::kNotSupported,
                   "the kernel of this machine has no LNet: the module lnet is not loaded. Load it "
                   "(modprobe lnet), or leave out --kernel to capture on a node of plnet");
  }
  std::string missing;
  for (const char* const name : kProbedFunctions) {
    if (!functions.contains(name)) missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  if (!missing.empty()) {
    return failure(Errc::kNotSupported,
                   fmt::format("the module lnet of this kernel has no function {}; lnetdump knows "
                               "LNet of Lustre 2.15 to 2.17. Use a file of tcpdump with -r",
                               missing));
  }
  return check_types(root, type_file);
}

}  // namespace plnet::lnetdump

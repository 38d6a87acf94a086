// SPDX-License-Identifier: BSD-3-Clause
// The preconditions of capturing the kernel's LNet, checked before using libbpf: libbpf's messages
// tell developers what failed, but administrators need to know what to do.
#pragma once

#include <string>

#include "lib/base/result.hpp"

namespace plnet::lnetdump {

// Functions that have a probe.
inline constexpr const char* kProbedFunctions[] = {"lnet_parse", "lnet_ni_recv", "lnet_ni_send",
                                                   "lnet_drop_message", "lnet_finalize"};

// `root`: of /proc and /sys, "" for this host's. `type_file`: --lnet-btf, empty if it is not given.
[[nodiscard]] Outcome<void> check_kernel(const std::string& root, const std::string& type_file);

}  // namespace plnet::lnetdump

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/capabilities.hpp"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace plnet::runtime {

Outcome<void> keep_only_capabilities(std::span<const unsigned> kept) {
  std::uint64_t mask = 0;
  for (const unsigned capability : kept)
    mask |= std::uint64_t{1} << capability;
  // A program that root runs would have all capabilities again. Without CAP_SETPCAP the kernel
  // refuses this, but such a process has few capabilities to give up.
  for (unsigned each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each) {
    if ((mask >> each & 1U) == 0) (void)::prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
  }
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  bool done = ::syscall(SYS_capget, &header, sets.data()) == 0;
  for (auto& set : sets) {
    const auto part = static_cast<std::uint32_t>(mask);
    set.effective &= part;
    set.permitted &= part;
    set.inheritable &= part;
    mask >>= 32U;
  }
  done = done && ::syscall(SYS_capset, &header, sets.data()) == 0;
  if (done) return {};
  const Errc code = errc_of_errno(errno);
  return failure(code, fmt::format("cannot give up capabilities: {}", text_of(code)));
}

}  // namespace plnet::runtime

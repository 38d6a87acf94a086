// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/libcxi_caller.hpp"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace plnet::cassini::soft {

Caller caller() {
  struct stat network{};
  (void)stat("/proc/self/ns/net", &network);
  return {.user = geteuid(), .group = getegid(), .network = static_cast<unsigned>(network.st_ino)};
}

bool is_administrator() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

}  // namespace plnet::cassini::soft

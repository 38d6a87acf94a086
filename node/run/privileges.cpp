// SPDX-License-Identifier: BSD-3-Clause
#include "node/run/privileges.hpp"

#include <linux/capability.h>

#include "lib/runtime/host/capabilities.hpp"

namespace plnet::node {

Outcome<void> give_up_privileges(const runtime::Settings& settings, Families families,
                                 const runtime::SocketOptions& socket) {
  // NIs come and go while a node runs: ports below 1024, busy polling, sockets of the link layer,
  // memory for devices. Root reads its files again on SIGHUP and removes its socket at the end, in
  // directories that may be another user's.
  std::vector<unsigned> kept{CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW,
                             CAP_SYS_NICE,         CAP_IPC_LOCK,  CAP_DAC_OVERRIDE};
  if (socket.owner || socket.group) kept.insert(kept.end(), {CAP_CHOWN, CAP_FOWNER});
  for (const NetworkFamily* const family : families) {
    const auto needs = family->needs(settings);
    if (!needs) continue;  // the start reports the error
    kept.insert(kept.end(), needs->capabilities.begin(), needs->capabilities.end());
  }
  return runtime::keep_only_capabilities(kept);
}

}  // namespace plnet::node

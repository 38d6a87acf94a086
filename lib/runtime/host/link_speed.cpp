// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/link_speed.hpp"

#include <cstring>

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace plnet::runtime {

// Not from /sys, which may show another network namespace.
std::uint32_t link_speed_mbps(const std::string& interface) {
  if (interface.empty() || interface.size() >= IFNAMSIZ) return 0;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return 0;
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  ifreq request{};
  std::memcpy(request.ifr_name, interface.c_str(), interface.size() + 1);
  request.ifr_data = reinterpret_cast<char*>(&command);
  const bool known = ::ioctl(socket, SIOCETHTOOL, &request) == 0;
  ::close(socket);
  if (!known) return 0;
  const std::uint32_t speed = ethtool_cmd_speed(&command);
  return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
}

}  // namespace plnet::runtime

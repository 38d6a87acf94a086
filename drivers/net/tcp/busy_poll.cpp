// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/busy_poll.hpp"

#include <cerrno>

#include <netinet/in.h>
#include <sys/socket.h>

#include "drivers/net/tcp/socket.hpp"

namespace plnet::drivers {

bool ask_for_busy_poll(int descriptor, const BusyPoll& wanted) {
  const auto ask = [descriptor](int name, unsigned value) {
    return set_option(descriptor, SOL_SOCKET, name, static_cast<int>(value));
  };
  return ask(SO_BUSY_POLL, wanted.usec) && ask(SO_PREFER_BUSY_POLL, 1) &&
         (wanted.budget == 0 || ask(SO_BUSY_POLL_BUDGET, wanted.budget));
}

std::string busy_poll_refusal(const BusyPoll& wanted) {
  if (!wanted.wanted()) return {};
  const TcpSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (socket.valid() && ask_for_busy_poll(socket.get(), wanted)) return {};
  return std::string(text_of(errc_of_errno(errno)));
}

}  // namespace plnet::drivers

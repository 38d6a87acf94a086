// SPDX-License-Identifier: BSD-3-Clause
#include "bench/router/relays.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/tcp/bare_pair.hpp"
#include "drivers/net/tcp/socket.hpp"

namespace plnet::bench {

namespace {

constexpr int kPipeBytes = 1 << 20;  // the limit of unprivileged users
constexpr std::size_t kBufferBytes = std::size_t{256} << 10U;
constexpr int kLookMs = 20;  // longest delay of a stop

void relay_by_pipe(int from, int to, RelayRun& run) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK) != 0) return;
  const drivers::TcpSocket out(ends[0]);
  const drivers::TcpSocket in(ends[1]);
  (void)::fcntl(in.get(), F_SETPIPE_SZ, kPipeBytes);
  constexpr unsigned kFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
  std::size_t held = 0;
  while (!run.stopped().load(std::memory_order_relaxed)) {
    const ssize_t taken = ::splice(from, nullptr, in.get(), nullptr, kPipeBytes, kFlags);
    if (taken == 0) return;
    if (taken > 0) held += static_cast<std::size_t>(taken);
    ssize_t given = 0;
    if (held > 0) given = ::splice(out.get(), nullptr, to, nullptr, held, kFlags);
    if (given > 0) held -= static_cast<std::size_t>(given);
    run.note_turn(taken > 0 || given > 0);
  }
}

// The data fits into the socket's buffer, or the receiver is working: no sleep is necessary for
// sending.
void relay_asleep(int from, int to, const RelayRun& run) {
  const drivers::TcpSocket ready(::epoll_create1(0));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (::epoll_ctl(ready.get(), EPOLL_CTL_ADD, from, &wanted) != 0) return;
  std::vector<std::byte> buffer(kBufferBytes);
  while (!run.stopped().load(std::memory_order_relaxed)) {
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
    if (got == 0) return;
    if (got > 0) {
      (void)spin_send(to, std::span(buffer).first(static_cast<std::size_t>(got)), run.stopped());
      continue;
    }
    epoll_event told{};
    (void)::epoll_wait(ready.get(), &told, 1, kLookMs);
  }
}

}  // namespace

void relay_bytes(RelayKind kind, int from, int to, RelayRun& run) {
  if (kind == RelayKind::kSplice) return relay_by_pipe(from, to, run);
  relay_asleep(from, to, run);
}

}  // namespace plnet::bench

// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/tcp/relay.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = TcpTable::Id;

namespace {

constexpr unsigned kFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

// Unlike send(), splice() has no flag that suppresses the signal for a broken socket.
bool pipe_signal_is_ignored() {
  struct sigaction now{};
  return ::sigaction(SIGPIPE, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

// An error other than "would block".
bool is_broken(ssize_t moved) {
  return moved < 0 && errno != EAGAIN && errno != EINTR;
}

}  // namespace

TcpRelay::TcpRelay(bool wanted, TcpTx& tx, TcpStats& stats) : tx_(tx), stats_(stats) {
  if (wanted) refusal_ = make_pipe();
}

std::string_view TcpRelay::make_pipe() {
  if (!pipe_signal_is_ignored()) return "the process does not ignore SIGPIPE";
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return "no pipe is to be had";
  pipe_out_ = TcpSocket(ends[0]);
  pipe_in_ = TcpSocket(ends[1]);
  // A slot for each page, in case bytes come in pages.
  if (::fcntl(ends[1], F_SETPIPE_SZ, 2 * static_cast<int>(kBytesPerCall)) >= 0) return {};
  pipe_in_.reset();
  return "no pipe may hold 256 KiB";
}

bool TcpRelay::await(TcpConnection& connection, std::size_t bytes, Instant now) {
  if (!possible() || bytes == 0 || connection.has_remainder()) return false;
  // The system makes room for awaited bytes, and keeps it when fewer are awaited later.
  if (!connection.roomy) {
    connection.roomy = true;
    (void)set_low_water(connection, kRoomBytes);
  }
  if (!set_low_water(connection, bytes)) {
    listen_for_anything(connection);
    return false;
  }
  PLNET_CHECK(connection.awaited == 0, "a stream awaits one payload at a time");
  PLNET_DEBUG_CHECK(!connection.ListNode<Awaiting>::linked(), "a stream waits once");
  connection.awaited = bytes;
  connection.pressed = false;
  connection.await_until = now + kPatience;
  waiting_.push_back(connection);
  note_first();
  stats_.add(Id::kAwaits);
  return true;
}

TcpRelay::Found TcpRelay::look(TcpConnection& connection) {
  PLNET_CHECK(connection.awaited > 0, "only an awaited payload is looked for");
  int there = 0;
  const bool told = ::ioctl(connection.socket.get(), SIOCINQ, &there) == 0;
  if (told && static_cast<std::size_t>(there) >= connection.awaited) return Found::kAll;
  return connection.pressed || connection.broken || connection.to_the_end ? Found::kNoMore
                                                                          : Found::kNotYet;
}

void TcpRelay::end_wait(TcpConnection& connection) {
  if (connection.awaited == 0) return;
  connection.ListNode<Awaiting>::unlink();
  note_first();
  connection.awaited = 0;
}

void TcpRelay::listen_for_anything(TcpConnection& connection) {
  (void)set_low_water(connection, 1);
}

bool TcpRelay::set_low_water(TcpConnection& connection, std::size_t bytes) {
  if (connection.low_water == bytes) return true;
  stats_.add(Id::kLowWaters);
  if (!set_option(connection.socket.get(), SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(bytes)))
    return false;
  connection.low_water = static_cast<std::uint32_t>(bytes);
  return true;
}

void TcpRelay::forget(TcpConnection& connection) {
  end_wait(connection);
  std::array<std::byte, 4096> nowhere{};
  while (has_of(connection))
    (void)take_out(nowhere);
}

void TcpRelay::note_first() {
  PLNET_DEBUG_CHECK(waiting_.empty() || waiting_.front()->awaited > 0,
                    "a stream that waits awaits bytes");
  const TcpConnection* const first = waiting_.front();
  first_until_ = first == nullptr ? Instant::max() : first->await_until;
}

TcpConnection* TcpRelay::overdue(Instant now) {
  TcpConnection* const first = waiting_.front();
  return first != nullptr && first->await_until <= now ? first : nullptr;
}

std::size_t TcpRelay::relay(TcpConnection& from, TcpConnection& to,
                            std::span<const std::span<const std::byte>> head, std::size_t bytes) {
  PLNET_CHECK(held_ == 0, "bytes in the pipe are fetched before the next relay");
  std::size_t head_bytes = 0;
  for (const auto& piece : head)
    head_bytes += piece.size();
  std::size_t taken = tx_.write(to, head, true);
  if (taken < head_bytes) return taken;
  while (bytes > 0 && !to.broken) {
    const std::size_t moved = hand_on(from, to, bytes);
    taken += moved;
    bytes -= moved;
    if (held_ > 0 || moved == 0) break;
  }
  PLNET_DEBUG_CHECK(held_ <= kBytesPerCall, "one call fills the pipe with no more");
  if (bytes == 0) return taken;
  stats_.add(Id::kShortWrites);
  // If the receiving socket was full, the system reports room later. If not, it has room now.
  if (held_ == 0) to.writable = true;
  to.blocked = true;
  return taken;
}

// As many bytes as went into `to`; bytes taken from `from` beyond these are in the pipe.
std::size_t TcpRelay::hand_on(TcpConnection& from, TcpConnection& to, std::size_t bytes) {
  const std::size_t wanted = std::min(bytes, kBytesPerCall);
  const ssize_t in = ::splice(from.socket.get(), nullptr, pipe_in_.get(), nullptr, wanted, kFlags);
  stats_.add(Id::kSplices);
  if (in <= 0) return 0;
  PLNET_CHECK(static_cast<std::size_t>(in) <= wanted, "the system moves no more than it is asked");
  held_ = static_cast<std::size_t>(in);
  held_of_ = &from;
  const std::size_t all = held_;
  const unsigned more = all < bytes ? SPLICE_F_MORE : 0U;
  while (held_ > 0) {
    const ssize_t out =
        ::splice(pipe_out_.get(), nullptr, to.socket.get(), nullptr, held_, kFlags | more);
    stats_.add(Id::kSplices);
    if (out < 0 && errno == EINTR) continue;
    if (out <= 0) {
      if (is_broken(out)) to.fail(errc_of_errno(errno));
      break;
    }
    PLNET_CHECK(static_cast<std::size_t>(out) <= held_, "no more leaves the pipe than is in it");
    held_ -= static_cast<std::size_t>(out);
  }
  stats_.add(Id::kBytesRead, all - held_);
  stats_.add(Id::kBytesWritten, all - held_);
  stats_.add(Id::kBytesRelayed, all - held_);
  return all - held_;
}

Result<void> TcpRelay::fetch(TcpConnection& connection, std::span<std::byte> target) {
  while (!target.empty()) {
    std::size_t got = 0;
    if (has_of(connection)) {
      got = take_out(target);
    } else {
      const ssize_t read =
          ::recv(connection.socket.get(), target.data(), target.size(), MSG_DONTWAIT);
      stats_.add(Id::kReads);
      if (read < 0 && errno == EINTR) continue;
      // The peer cannot cause this, but the host can: a security module, or a socket that another
      // process of the administrator disconnects.
      if (read <= 0) return std::unexpected(is_broken(read) ? errc_of_errno(errno) : Errc::kIo);
      got = static_cast<std::size_t>(read);
    }
    stats_.add(Id::kBytesRead, got);
    target = target.subspan(got);
  }
  return {};
}

// Gives out bytes of the pipe. Possibly none.
std::size_t TcpRelay::take_out(std::span<std::byte> target) {
  const ssize_t got = ::read(pipe_out_.get(), target.data(), std::min(held_, target.size()));
  PLNET_CHECK(got > 0 || (got < 0 && errno == EINTR), "bytes in the pipe can be read");
  if (got < 0) return 0;
  held_ -= static_cast<std::size_t>(got);
  return static_cast<std::size_t>(got);
}

}  // namespace plnet::drivers

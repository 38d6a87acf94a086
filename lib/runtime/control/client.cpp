// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/runtime/control/access.hpp"
#include "lib/runtime/control/socket.hpp"

namespace plnet::runtime {
namespace {

std::string describe_owner(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return "its folder is closed to this user";
  return fmt::format("it belongs to {}:{}, mode {:04o}", user_name(status.st_uid),
                     group_name(status.st_gid), status.st_mode & 07777U);
}

std::unexpected<Error> connect_failure(const std::string& path, int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
      return failure(Errc::kRefused,
                     fmt::format("no node listens on '{}'; start one with 'lnet-router', or name "
                                 "its socket by --socket PATH or --instance NAME",
                                 path));
    case EACCES:
    case EPERM:
      return failure(
          Errc::kNotPermitted,
          fmt::format("no permission to use '{}': {}; run lnetctl as that user (sudo) or "
                      "join that group",
                      path, describe_owner(path)));
    case EAGAIN:
      return failure(Errc::kBusy, fmt::format("the node at '{}' does not take more clients now; "
                                              "try again",
                                              path));
    default:
      return failure(errc_of_errno(number), fmt::format("cannot connect to '{}': {}", path,
                                                        std::generic_category().message(number)));
  }
}

}  // namespace

Outcome<ControlClient> ControlClient::connect(const std::string& path, const Clock& clock) {
  auto socket = connect_to_socket(path);
  if (!socket) return connect_failure(path, socket.error());
  return ControlClient(path, std::move(*socket), clock);
}

VerbReply ControlClient::call(std::string_view verb, const nlohmann::json& args, Duration timeout) {
  const Instant deadline = clock_.now() + timeout;
  const std::int64_t id = next_id_++;
  const std::string request = encode_request({id, std::string(verb), args});
  if (request.size() > kRequestBytesMax) {
    return std::unexpected(
        VerbError(Error{Errc::kTooBig, fmt::format("the request has {} MiB, allowed are {}",
                                                   request.size() >> 20, kRequestBytesMax >> 20)}));
  }
  // A node that refuses us may have answered and closed before we asked: its answer says more than
  // our broken pipe.
  const auto sent = send_all(request, deadline, timeout);
  while (true) {
    auto line = read_line(deadline, timeout);
    if (!line) return std::unexpected(VerbError(sent ? line.error() : sent.error()));
    auto reply = parse_reply(*line);
    if (!reply) return std::unexpected(VerbError(std::move(reply.error())));
    // Skip a late answer to an earlier call that timed out.
    if (reply->id.value_or(id) == id) return std::move(reply->reply);
  }
}

bool ControlClient::was_closed() const {
  pollfd entry{socket_.get(), POLLIN, 0};
  if (::poll(&entry, 1, 0) <= 0) return false;
  char next = 0;
  const ssize_t got = ::recv(socket_.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

Outcome<void> ControlClient::wait_for(short events, Instant deadline, Duration timeout) {
  while (true) {
    const Duration left = deadline - clock_.now();
    pollfd entry{socket_.get(), events, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(left, Duration{0}));
    const int ready =
        ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(wait.count(), 1000)));
    if (ready > 0) return {};
    if (left <= Duration::zero()) {
      return failure(Errc::kTimedOut,
                     fmt::format("the node at '{}' did not answer within {} s", path_,
                                 std::chrono::duration<double>(timeout).count()));
    }
  }
}

Outcome<void> ControlClient::send_all(std::string_view text, Instant deadline, Duration timeout) {
  while (!text.empty()) {
    const ssize_t put = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(POLLOUT, deadline, timeout); !ready) return ready;
    } else if (errno != EINTR) {
      return failure(Errc::kReset, fmt::format("the node at '{}' closed the connection", path_));
    }
  }
  return {};
}

// Descriptors beyond the limit of one reply are closed.
ssize_t ControlClient::receive(std::span<char> piece) {
  iovec bytes{piece.data(), piece.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kHandedMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
      Descriptor handed(number);
      if (handed_.size() < kHandedMax) handed_.push_back(std::move(handed));
    }
  }
  return got;
}

Outcome<std::string> ControlClient::read_line(Instant deadline, Duration timeout) {
  std::array<char, kReadPiece> piece{};
  while (true) {
    if (const auto line = input_.next()) return std::string(*line);
    const ssize_t got = receive(piece);
    if (got > 0) {
      if (!input_.feed({piece.data(), static_cast<std::size_t>(got)})) {
        return failure(Errc::kTooBig, fmt::format("the node at '{}' answers with more than {} MiB",
                                                  path_, kReplyBytesMax >> 20));
      }
    } else if (got == 0 || errno == ECONNRESET) {
      return failure(
          Errc::kReset,
          fmt::format("the node at '{}' closed the connection before it answered; it may "
                      "have stopped: look at its log",
                      path_));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto ready = wait_for(POLLIN, deadline, timeout); !ready) {
        return std::unexpected(std::move(ready.error()));
      }
    } else if (errno != EINTR) {
      return failure(Errc::kReset, fmt::format("the connection to the node at '{}' broke: {}",
                                               path_, std::generic_category().message(errno)));
    }
  }
}

}  // namespace plnet::runtime

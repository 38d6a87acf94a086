// SPDX-License-Identifier: BSD-3-Clause
// What a function returns when it can fail. Result<T> carries a code and never allocates: it is for
// the message path. Outcome<T> adds words for people: it is for the control path.
#pragma once

#include <cerrno>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace plnet {

// How a failed message bears on the health of the interfaces that it used. Names and order are
// LNet's (lustre-release lnet/include/lnet/lib-types.h: enum lnet_msg_hstatus), values go into
// masks.
enum class Health : std::uint8_t {
  kOk,
  kLocalInterrupt,
  kLocalDropped,
  kLocalAborted,
  kLocalNoRoute,
  kLocalError,
  kLocalTimeout,
  kRemoteError,
  kRemoteDropped,
  kRemoteTimeout,
  kNetworkTimeout,
};
inline constexpr std::size_t kHealthCount = 11;

// Every way in which something of ours fails: name, errno that LNet's tools print, the health class
// that a message failing so gets unless whoever saw it fail knows better, text.
#define PLNET_ERRORS(X)                                                         \
  X(kInvalid, EINVAL, kLocalError, "invalid argument")                          \
  X(kMissing, EFAULT, kLocalError, "mandatory parameter missing")               \
  X(kOutOfRange, ERANGE, kLocalError, "out of range")                           \
  X(kNotFound, ENOENT, kLocalError, "not found")                                \
  X(kExists, EEXIST, kLocalError, "exists already")                             \
  X(kBusy, EBUSY, kLocalDropped, "busy")                                        \
  X(kAgain, EAGAIN, kLocalDropped, "would block, try again")                    \
  X(kNotPermitted, EPERM, kLocalError, "not permitted")                         \
  X(kNotSupported, EOPNOTSUPP, kLocalError, "not supported")                    \
  X(kNoMemory, ENOMEM, kLocalError, "out of memory or of preallocated objects") \
  X(kNoSpace, ENOSPC, kLocalDropped, "no room")                                 \
  X(kTooBig, EMSGSIZE, kLocalError, "too big")                                  \
  X(kProtocol, EPROTO, kRemoteError, "protocol error")                          \
  X(kMalformed, EBADMSG, kRemoteError, "malformed")                             \
  X(kVersion, EPROTONOSUPPORT, kRemoteError, "version not supported")           \
  X(kStale, ESTALE, kRemoteError, "belongs to an earlier incarnation")          \
  X(kNoRoute, EHOSTUNREACH, kLocalNoRoute, "no route to the peer")              \
  X(kNetworkDown, ENETDOWN, kLocalError, "network is down")                     \
  X(kRefused, ECONNREFUSED, kRemoteDropped, "connection refused")               \
  X(kReset, ECONNRESET, kRemoteDropped, "connection reset")                     \
  X(kClosed, ENOTCONN, kLocalError, "not connected")                            \
  X(kAborted, ECONNABORTED, kLocalAborted, "aborted")                           \
  X(kCancelled, ECANCELED, kOk, "cancelled")                                    \
  X(kTimedOut, ETIMEDOUT, kNetworkTimeout, "timed out")                         \
  X(kNoData, ENODATA, kOk, "no matching data")                                  \
  X(kIo, EIO, kLocalError, "input/output error")                                \
  X(kShutdown, ESHUTDOWN, kLocalAborted, "shutting down")

enum class Errc : std::uint8_t {
#define PLNET_X(name, number, health, text) name,
  PLNET_ERRORS(PLNET_X)
#undef PLNET_X
};

// All four are total: a value outside the enum (memory trampled on) yields "unknown", EIO, local.
[[nodiscard]] std::string_view name_of(Errc code);
[[nodiscard]] std::string_view text_of(Errc code);
[[nodiscard]] int errno_of(Errc code);
[[nodiscard]] Health health_of(Errc code);

// The nearest code for an errno that a system call left behind.
[[nodiscard]] Errc errc_of_errno(int number);
[[nodiscard]] std::string_view name_of(Health health);

template <class T>
using Result = std::expected<T, Errc>;

// A failure on the control path: what happened, in words that name the thing and say what was
// expected. The words go to a person; programs look at the code.
struct Error {
  Errc code = Errc::kInvalid;
  std::string what;
};

template <class T>
using Outcome = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> failure(Errc code, std::string what) {
  return std::unexpected(Error{code, std::move(what)});
}

}  // namespace plnet

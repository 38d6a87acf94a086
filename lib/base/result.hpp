// SPDX-License-Identifier: BSD-3-Clause
// The result of a function that can fail. Result<T> carries a code and never allocates: for the
// message path. Outcome<T> adds words for people: for the control path.
#pragma once

#include <cerrno>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace plnet {

// The effect of a failed message on the health of the interfaces that it used. Names and order are
// LNet's (lustre-release lnet/include/lnet/lib-types.h: enum lnet_msg_hstatus); the values are bit
// numbers in masks.
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

// All error codes: name, the errno that LNet's tools print, the default health class of a message
// that fails with it (its observer may know better), text.
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

// All four are total: a value outside the enum (corrupted memory) yields "unknown", EIO, local.
[[nodiscard]] std::string_view name_of(Errc code);
[[nodiscard]] std::string_view text_of(Errc code);
[[nodiscard]] int errno_of(Errc code);
[[nodiscard]] Health health_of(Errc code);

// The nearest code for an errno of a system call.
[[nodiscard]] Errc errc_of_errno(int number);
[[nodiscard]] std::string_view name_of(Health health);

template <class T>
using Result = std::expected<T, Errc>;

// A failure on the control path, described in words that name the object and the expectation.
// People read the words, programs the code.
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

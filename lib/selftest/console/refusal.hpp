// SPDX-License-Identifier: BSD-3-Clause
// The reasons for which the console refuses a command. After a refusal nothing has been sent and
// nothing changed.
#pragma once

#include <cerrno>
#include <cstdint>
#include <expected>
#include <string_view>

namespace plnet::selftest {

// Name, errno as shown to users of `lst`, default text.
#define PLNET_REFUSALS(X)                                                  \
  X(kNoSession, ESRCH, "no session exists")                                \
  X(kShuttingDown, ESHUTDOWN, "the session is shutting down")              \
  X(kNotFound, ENOENT, "not found in the session")                         \
  X(kExists, EEXIST, "exists already")                                     \
  X(kInvalid, EINVAL, "invalid parameters")                                \
  X(kBusy, EBUSY, "used by a test or being changed")                       \
  X(kNotPermitted, EPERM, "the batch is being changed by another command") \
  X(kNameTooLong, E2BIG, "the name is too long")                           \
  X(kNodeInactive, ENETDOWN, "not every node is active")                   \
  X(kTooMany, ENOSPC, "more than this console keeps")                      \
  X(kProtocol, EPROTO, "session features that are not known")

enum class Refusal : std::uint8_t {
#define PLNET_X(name, number, text) name,
  PLNET_REFUSALS(PLNET_X)
#undef PLNET_X
};
[[nodiscard]] constexpr int errno_of(Refusal refusal) {
  switch (refusal) {
#define PLNET_X(name, number, text) \
  case Refusal::name: return number;
    PLNET_REFUSALS(PLNET_X)
#undef PLNET_X
  }
  return EIO;
}
[[nodiscard]] constexpr std::string_view text_of(Refusal refusal) {
  switch (refusal) {
#define PLNET_X(name, number, text) \
  case Refusal::name: return text;
    PLNET_REFUSALS(PLNET_X)
#undef PLNET_X
  }
  return "unknown";
}

struct Refused {
  Refusal code = Refusal::kInvalid;
  std::string_view why;  // a literal, for people
};

template <class T>
using Answer = std::expected<T, Refused>;

[[nodiscard]] inline std::unexpected<Refused> refuse(Refusal code) {
  return std::unexpected(Refused{code, text_of(code)});
}
[[nodiscard]] inline std::unexpected<Refused> refuse(Refusal code, std::string_view why) {
  return std::unexpected(Refused{code, why});
}

}  // namespace plnet::selftest

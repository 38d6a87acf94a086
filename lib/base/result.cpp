// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/result.hpp"

#include <array>

namespace plnet {
namespace {

struct ErrorInfo {
  Errc code;
  std::string_view name;
  int number;
  Health health;
  std::string_view text;
};

constexpr std::array kErrors{
#define PLNET_X(name, number, health, text) \
  ErrorInfo{Errc::name, std::string_view(#name).substr(1), number, Health::health, text},
    PLNET_ERRORS(PLNET_X)
#undef PLNET_X
};

constexpr ErrorInfo kUnknown{Errc::kIo, "unknown", EIO, Health::kLocalError, "unknown error"};

const ErrorInfo& info_of(Errc code) {
  const auto index = static_cast<std::size_t>(code);
  return index < kErrors.size() ? kErrors[index] : kUnknown;
}

constexpr std::array<std::string_view, kHealthCount> kHealthNames{"ok",
                                                                  "local_interrupt",
                                                                  "local_dropped",
                                                                  "local_aborted",
                                                                  "local_no_route",
                                                                  "local_error",
                                                                  "local_timeout",
                                                                  "remote_error",
                                                                  "remote_dropped",
                                                                  "remote_timeout",
                                                                  "network_timeout"};

}  // namespace

std::string_view name_of(Errc code) {
  return info_of(code).name;
}
std::string_view text_of(Errc code) {
  return info_of(code).text;
}
int errno_of(Errc code) {
  return info_of(code).number;
}
Health health_of(Errc code) {
  return info_of(code).health;
}

Errc errc_of_errno(int number) {
  for (const auto& error : kErrors) {
    if (error.number == number) return error.code;
  }
  switch (number) {
    case EACCES: return Errc::kNotPermitted;
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case ESRCH: return Errc::kNotFound;
    case ENETUNREACH: return Errc::kNoRoute;
    case EPIPE: return Errc::kReset;
    case EADDRINUSE: return Errc::kBusy;
    case EADDRNOTAVAIL: return Errc::kNotFound;
    case EMFILE:
    case ENFILE:
    case ENOBUFS: return Errc::kNoMemory;
    default: return Errc::kIo;
  }
}

std::string_view name_of(Health health) {
  const auto index = static_cast<std::size_t>(health);
  return index < kHealthNames.size() ? kHealthNames[index] : "unknown";
}

}  // namespace plnet

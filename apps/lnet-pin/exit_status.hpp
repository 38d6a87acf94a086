// SPDX-License-Identifier: BSD-3-Clause
// The exit status of the commands of lnet-pin.
#pragma once

#include <cstdio>
#include <string>

namespace plnet::pin {

inline constexpr int kGood = 0;
inline constexpr int kFailed = 1;
inline constexpr int kMisused = 2;
inline constexpr int kFound = 3;       // a check has findings
inline constexpr int kIncomplete = 4;  // a sweep has ended, but some placements have failed
inline constexpr int kInterrupted = 130;

inline int complain(const std::string& what) {
  std::fprintf(stderr, "lnet-pin: %s\n", what.c_str());
  return kFailed;
}

}  // namespace plnet::pin

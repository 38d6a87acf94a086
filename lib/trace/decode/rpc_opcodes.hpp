// SPDX-License-Identifier: BSD-3-Clause
// The opcodes that decoding treats specially; rpc_names.hpp has the names of all.
#pragma once

#include <cstdint>

namespace plnet::trace::opcode {

inline constexpr std::uint32_t kOstRead = 3;
inline constexpr std::uint32_t kOstWrite = 4;
inline constexpr std::uint32_t kMdsClose = 35;
inline constexpr std::uint32_t kMdsReint = 36;
inline constexpr std::uint32_t kLdlmEnqueue = 101;
inline constexpr std::uint32_t kLdlmGlimpse = 106;
inline constexpr std::uint32_t kSeqQuery = 700;
inline constexpr std::uint32_t kFldQuery = 900;
inline constexpr std::uint32_t kOutUpdate = 1000;

}  // namespace plnet::trace::opcode

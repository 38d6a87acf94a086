// SPDX-License-Identifier: BSD-3-Clause
// What RdmaLnd puts on the wire. Private to the simulator: both ends are the same program, so the
// struct travels as it lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header_codec.hpp"

namespace plnet::sim {

enum class RdmaKind : std::uint16_t {
  kImmediate = 1,  // header, payload behind the frame
  kPutRequest,     // header; answered by kPutAck or kPutNak
  kGetRequest,     // header and the open sink; answered by kGetDone
  kPutAck,         // the open sink: write, then say kPutDone
  kPutNak,
  kPutDone,
  kGetDone,
  kCredit,
};

struct RdmaPiece {
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  std::uint32_t key = 0;
};

inline constexpr std::size_t kRdmaPiecesMax = 8;

struct RdmaFrame {
  static constexpr std::uint32_t kMagic = 0x53494d32;  // "SIM2"

  std::uint32_t magic = kMagic;
  RdmaKind kind = RdmaKind::kImmediate;
  std::uint16_t credits = 0;     // given back
  std::uint32_t request = 0;     // of who asked: its record
  std::uint32_t generation = 0;  // and which use of it
  std::uint32_t answer = 0;      // of who answers: its record
  std::uint32_t length = 0;
  std::uint32_t failed = 0;  // kGetDone: nothing was written
  std::uint32_t piece_count = 0;
  std::array<RdmaPiece, kRdmaPiecesMax> pieces{};
  std::array<std::byte, lnet::kHeaderNid16Bytes> header{};
};
static_assert(sizeof(RdmaFrame) == 32 + 8 * 16 + 96);
static_assert(std::is_trivially_copyable_v<RdmaFrame>);

// Private data of a connect request.
struct RdmaHello {
  std::uint32_t magic = RdmaFrame::kMagic;
  lnet::Nid nid;
};
static_assert(sizeof(RdmaHello) == 24);

}  // namespace plnet::sim

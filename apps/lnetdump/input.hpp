// SPDX-License-Identifier: BSD-3-Clause
// A capture file or a pipe, read packet by packet.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/result.hpp"
#include "lib/trace/file/packet.hpp"

namespace plnet::lnetdump {

struct InputEnd {
  std::uint64_t cut_bytes = 0;  // length of an incomplete last block
};

// Calls `packet` for each until it returns false. "-" is standard input. `position`: bytes read so
// far.
[[nodiscard]] Outcome<InputEnd> read_packets(
    const std::string& path, const std::function<bool(const trace::Packet&)>& packet,
    std::uint64_t* position = nullptr);

}  // namespace plnet::lnetdump

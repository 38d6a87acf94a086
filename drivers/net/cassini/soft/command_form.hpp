// SPDX-License-Identifier: BSD-3-Clause
// The form of a command, told by its first words.
#pragma once

#include <cstddef>

#include "drivers/net/cassini/soft/codes.hpp"

namespace plnet::cassini::soft {

struct CommandView {
  const std::byte* at = nullptr;  // null: no command
  unsigned bytes = 0;
  CommandType type = CommandType::kIdc;
  unsigned opcode = 0;
};

[[nodiscard]] CommandView command_at(const std::byte* at);

// The whole words at its beginning that its producer writes, in bytes (cxi_prov_hw.h:
// cxi_cq_emit_*()). A command of immediate data ends with its data, a NOOP or fence with its first
// word. A last word in part does not count: with the rest of what was there it may be anything. It
// is there when the length is, which producers write last.
[[nodiscard]] unsigned written_bytes(const CommandView& command);

// Checks a command's size against its opcode, and that the queue has such a command.
[[nodiscard]] ReturnCode size_of(const CommandView& command);

[[nodiscard]] bool has_reserved_bits(const CommandView& command);

}  // namespace plnet::cassini::soft

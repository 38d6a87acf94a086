// SPDX-License-Identifier: BSD-3-Clause
// Pieces of text that several outputs share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/trace/decode/message.hpp"
#include "lib/trace/pair/pair_up.hpp"

namespace plnet::trace {

[[nodiscard]] std::string hex_text(std::uint64_t number);  // "0x69F14CE4BFE80"
// replaces characters that a terminal may interpret by ?
[[nodiscard]] std::string printable(std::string_view text);
[[nodiscard]] std::string size_text(std::uint64_t bytes);              // "1.5MiB"
[[nodiscard]] std::string duration_text(std::uint64_t ns);             // "123us"
[[nodiscard]] std::string_view rpc_type_text(const Message& message);  // "REQ", …, "-"
// "OST_READ", "BRW_REQ", or the type and portal of another message.
[[nodiscard]] std::string operation_text(const Message& message);
[[nodiscard]] std::string operation_text(const Exchange& exchange);
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace plnet::trace

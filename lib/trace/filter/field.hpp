// SPDX-License-Identifier: BSD-3-Clause
// The fields that a filter can name: their places in the input and the form of their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/trace/decode/named_number.hpp"

namespace plnet::trace {

enum class FieldKind : std::uint8_t {
  kNumber,
  kSigned,
  kBits,  // "=" is true if all bits of the value are set
  kNid,   // a NID of 20 bytes
  kNet,   // the network of a NID
  kJob,   // 32 letters
};

struct Field {
  std::string_view name;
  std::string_view help;
  FieldKind kind = FieldKind::kNumber;
  std::uint16_t offset = 0;  // in FilterInput
  std::uint8_t bytes = 4;
  std::uint32_t presence = 0;  // FilterPresence; 0: always present
  NameTable (*names)() = nullptr;
  std::uint16_t second_offset = 0;  // kNid, kNet: another NID of which one has to match

  [[nodiscard]] bool is_content() const;  // comes from the payload
};

[[nodiscard]] std::span<const Field> filter_fields();
// Accepts also the second names that tcpdump's users expect. Null: no such field.
[[nodiscard]] const Field* find_filter_field(std::string_view name);

// A name of the field's table, or a number, decimal or hexadecimal after 0x.
[[nodiscard]] std::optional<std::uint64_t> parse_field_value(const Field& field,
                                                             std::string_view text);

}  // namespace plnet::trace

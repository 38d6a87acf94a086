// SPDX-License-Identifier: BSD-3-Clause
// A structure of the wire of which only the beginning may have been captured. A field is there or
// it is not; nothing is read beyond the bytes given.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace plnet::trace {

[[nodiscard]] constexpr auto in_order(std::integral auto value, bool swapped) {
  return swapped ? std::byteswap(value) : value;
}

// A number at an offset, if it was captured.
template <std::integral Number>
[[nodiscard]] std::optional<Number> number_at(std::span<const std::byte> bytes, std::size_t offset,
                                              bool swapped) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Number)) return std::nullopt;
  Number number{};
  std::memcpy(&number, &bytes[offset], sizeof number);
  return in_order(number, swapped);
}

template <class Wire>
class Captured {
  static_assert(std::is_trivially_copyable_v<Wire>);

 public:
  Captured() = default;
  Captured(std::span<const std::byte> bytes, bool swapped)
      : bytes_(std::min(bytes.size(), sizeof(Wire))), swapped_(swapped) {
    if (bytes_ > 0) std::memcpy(static_cast<void*>(&wire_), bytes.data(), bytes_);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  template <std::integral Field>
  [[nodiscard]] std::optional<Field> get(Field Wire::* member) const {
    if (!has(member)) return std::nullopt;
    return in_order(wire_.*member, swapped_);
  }
  template <std::integral Element, std::size_t kCount>
  [[nodiscard]] std::optional<std::array<Element, kCount>> get(
      std::array<Element, kCount> Wire::* member) const {
    if (!has(member)) return std::nullopt;
    auto copy = wire_.*member;
    for (Element& element : copy)
      element = in_order(element, swapped_);
    return copy;
  }

 private:
  template <class Field>
  [[nodiscard]] bool has(Field Wire::* member) const {
    const auto* const begin = reinterpret_cast<const std::byte*>(&wire_);
    const auto* const end = reinterpret_cast<const std::byte*>(&(wire_.*member) + 1);
    return static_cast<std::size_t>(end - begin) <= bytes_;
  }

  Wire wire_{};
  std::size_t bytes_ = 0;
  bool swapped_ = false;
};

}  // namespace plnet::trace

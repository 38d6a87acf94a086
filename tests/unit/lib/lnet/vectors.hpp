// SPDX-License-Identifier: BSD-3-Clause
// The golden vectors of tests/data/vectors, for tests that reproduce them both ways.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet::vectors {

using Json = nlohmann::json;
using Bytes = std::vector<std::byte>;

// The build defines PLNET_TEST_DATA.
inline Json load(const char* name) {
  std::ifstream file(std::string(PLNET_TEST_DATA "/vectors/") + name + ".json");
  Json one = Json::parse(file, nullptr, false);
  PLNET_CHECK(one.is_array(), "the files of tests/data/vectors are there and are JSON");
  return one;
}

// The vectors of LNet and socklnd.
inline const Json& all() {
  static const Json loaded = [] {
    Json both = Json::array();
    for (const char* const name : {"lnet", "socklnd"}) {
      const Json one = load(name);
      both.insert(both.end(), one.begin(), one.end());
    }
    return both;
  }();
  return loaded;
}

// The vectors of one structure.
inline std::vector<Json> group(std::string_view structure) {
  std::vector<Json> found;
  for (const Json& vector : all()) {
    if (vector["struct"].get<std::string>() == structure) found.push_back(vector);
  }
  return found;
}

inline Bytes from_hex(std::string_view hex) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

inline std::string to_hex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return hex;
}

inline std::string hex(const Json& vector) {
  return vector["hex"].get<std::string>();
}
inline std::string name(const Json& vector) {
  return vector["name"].get<std::string>();
}
inline Bytes bytes_of(const Json& vector) {
  return from_hex(hex(vector));
}

// A field as a number; 0 if it is missing.
inline std::uint64_t number(const Json& vector, const std::string& field) {
  const Json& fields = vector["fields"];
  if (!fields.contains(field)) return 0;
  const Json& value = fields[field];
  if (value.is_string()) return std::stoull(value.get<std::string>(), nullptr, 16);
  return value.get<std::uint64_t>();
}

inline std::uint32_t word(const Json& vector, const std::string& field) {
  return static_cast<std::uint32_t>(number(vector, field));
}

// A field of bytes; zeros if it is missing.
template <class Value>
Value raw(const Json& vector, const std::string& field) {
  std::array<std::byte, sizeof(Value)> bytes{};
  const Json& fields = vector["fields"];
  if (fields.contains(field)) {
    const auto text = fields[field].get<std::string>();
    const Bytes given = from_hex(std::string_view(text).substr(std::strlen("bytes:")));
    PLNET_CHECK(given.size() == bytes.size(), "the field is as long as its type");
    std::ranges::copy(given, bytes.begin());
  }
  return std::bit_cast<Value>(bytes);
}

template <class Value>
std::string hex_of(const Value& value) {
  return to_hex(std::as_bytes(std::span(&value, 1)));
}

template <class Value>
Value value_of(const Json& vector) {
  const Bytes bytes = bytes_of(vector);
  PLNET_CHECK(bytes.size() == sizeof(Value), "the vector is as long as the type");
  std::array<std::byte, sizeof(Value)> copy{};
  std::ranges::copy(bytes, copy.begin());
  return std::bit_cast<Value>(copy);
}

}  // namespace plnet::lnet::vectors

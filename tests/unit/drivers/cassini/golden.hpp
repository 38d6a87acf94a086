// SPDX-License-Identifier: BSD-3-Clause
// The golden vectors of Cassini: bytes that the public headers produce.
#pragma once

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/lib/lnet/vectors.hpp"

namespace plnet::cassini::golden {

using plnet::lnet::vectors::Bytes;
using plnet::lnet::vectors::bytes_of;
using plnet::lnet::vectors::hex;
using plnet::lnet::vectors::Json;
using plnet::lnet::vectors::name;
using plnet::lnet::vectors::number;
using plnet::lnet::vectors::to_hex;

inline const char* path() {
  return PLNET_TEST_DATA "/vectors/cassini.json";
}
inline bool present() {
  return std::ifstream(path()).good();
}
inline const Json& all() {
  static const Json loaded = plnet::lnet::vectors::load("cassini");
  return loaded;
}
// The bytes behind the fixed part.
inline Bytes payload(const Json& vector) {
  const auto text = vector["fields"]["payload"].get<std::string>();
  return plnet::lnet::vectors::from_hex(std::string_view(text).substr(std::strlen("bytes:")));
}
inline std::vector<Json> group(std::string_view structure) {
  std::vector<Json> found;
  for (const Json& vector : all()) {
    if (vector["struct"].get<std::string>() == structure) found.push_back(vector);
  }
  return found;
}

}  // namespace plnet::cassini::golden

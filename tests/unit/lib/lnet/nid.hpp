// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

// Parses a NID. An invalid text fails the test.
inline Nid nid(std::string_view text) {
  const auto parsed = parse_nid(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(Nid{});
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// Assertions as anybody may write them: understood, or refused with what was expected.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/trace/show/tally.hpp"

using namespace plnet::trace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto assertion =
      Assertion::parse({reinterpret_cast<const char*>(data), data == nullptr ? 0 : size});
  if (!assertion) {
    PLNET_CHECK(assertion.error().what.starts_with("assertion '"), "an error says of what");
    return 0;
  }
  static Tally tally;
  PLNET_CHECK(assertion->value(tally) == 0, "nothing was counted");
  (void)assertion->holds(tally);
  return 0;
}

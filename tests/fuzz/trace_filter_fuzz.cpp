// SPDX-License-Identifier: BSD-3-Clause
// Filters as anybody may write them: errors say where, what parses can be compiled or is refused,
// and programs jump forward only and read within the input.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/show/format.hpp"

using namespace plnet::trace;

namespace {

void check_program(const BpfProgram& program) {
  const auto& all = program.instructions;
  PLNET_CHECK(!all.empty() && all.size() <= kBpfInstructionsMax, "a program is bounded");
  PLNET_CHECK(all.back().code == bpf::kExit, "a program ends");
  PLNET_CHECK(paths_through(all) <= kBpfPathsMax, "a program can be verified");
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((all[i].code & 7U) == 5 && all[i].code != bpf::kExit) {
      PLNET_CHECK(all[i].offset >= 0, "no loops");
      PLNET_CHECK(i + 1 + static_cast<std::size_t>(all[i].offset) < all.size(), "no jump outside");
    }
    if ((all[i].code & 7U) == 1) {
      PLNET_CHECK(
          all[i].offset >= 0 && static_cast<std::size_t>(all[i].offset) < sizeof(FilterInput),
          "no read outside");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 4 == 0) {
    const auto format = Format::parse(text);
    PLNET_CHECK(format || format.error().what.contains("column "), "an error says where");
    return 0;
  }
  const auto expression = Expression::parse(text);
  if (!expression) {
    PLNET_CHECK(expression.error().what.contains("column "), "an error says where");
    return 0;
  }
  FilterInput input;
  (void)expression->matches(input);
  if (const auto program = compile(*expression)) check_program(*program);
  return 0;
}

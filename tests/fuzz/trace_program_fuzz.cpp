// SPDX-License-Identifier: BSD-3-Clause
// Programs as a user may hand them to a node: what the verifier accepts, librte_bpf accepts as well
// or refuses, and what runs ends, changes nothing, and says the same interpreted and as machine
// code.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/runtime/trace/filter_runner.hpp"
#include "lib/trace/filter/verifier.hpp"

using namespace plnet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<trace::BpfInstruction> program(size / sizeof(trace::BpfInstruction));
  if (!program.empty()) {
    std::memcpy(program.data(), data, program.size() * sizeof(trace::BpfInstruction));
  }
  const auto verified = trace::verify(program);
  if (!verified) {
    PLNET_CHECK(!verified.error().what.empty(), "a refusal says why");
    return 0;
  }
  const auto text = trace::program_text(verified->instructions);
  PLNET_CHECK(trace::parse_program_text(text).value() == verified->instructions, "text and back");
  const auto runner = runtime::FilterRunner::load(*verified);
  if (!runner) return 0;
  trace::FilterInput input;
  std::memset(static_cast<void*>(&input), 0x5a, sizeof input);
  trace::FilterInput before;
  std::memcpy(static_cast<void*>(&before), &input, sizeof input);
  const bool interpreted = runner->interpret(input);
  PLNET_CHECK(runner->matches(input) == interpreted, "one meaning");
  PLNET_CHECK(std::memcmp(&before, &input, sizeof input) == 0, "the message is not changed");
  return 0;
}

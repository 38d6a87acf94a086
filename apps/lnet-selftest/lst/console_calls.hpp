// SPDX-License-Identifier: BSD-3-Clause
// The transactions of a console under the names and arguments that lst uses, independent of the
// console's place: behind a control socket or in this process.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "apps/lnet-selftest/lst/console_json.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::lst {

using CallArgs = nlohmann::json;
using CallNodes = std::vector<lnet::ProcessId>;

// 0 or "" if the argument is missing; the largest number for one out of range.
[[nodiscard]] std::uint32_t number_of(const CallArgs& args, const char* name);
[[nodiscard]] std::string text_of(const CallArgs& args, const char* name);
// Reads the argument "nodes".
[[nodiscard]] std::expected<CallNodes, Refusal> nodes_of(const CallArgs& args);
[[nodiscard]] Refusal refusal_of(const selftest::Refused& refused);
// `nid`: of the console.
[[nodiscard]] selftest::NewSession new_session_of(const CallArgs& args, const lnet::Nid& nid);

// The row of a verb of consoles. `args` are the arguments of its requests.
[[nodiscard]] constexpr runtime::VerbRow console_row(std::string_view words, std::string_view help,
                                                     runtime::VerbAccess access,
                                                     const runtime::OptionList& args) {
  return {.words = words, .help = help, .args = args, .access = access, .frequent = true};
}
[[nodiscard]] constexpr runtime::OptionRow must_have(
    std::string_view name, runtime::OptionKind kind = runtime::OptionKind::kText) {
  return {.name = name, .kind = kind, .required = true};
}
inline constexpr runtime::OptionRow kKeyArg = must_have("key", runtime::OptionKind::kNumber);

struct ConsoleCall {
  runtime::VerbRow verb;
  selftest::Answer<selftest::TransactionId> (*begin)(selftest::Console& console,
                                                     const CallArgs& args, const CallNodes& nodes,
                                                     selftest::WhenDone when_done) = nullptr;
};
// All calls that need only a console and arguments: without new_session and add_test.
[[nodiscard]] std::vector<ConsoleCall> console_calls();

}  // namespace plnet::lst

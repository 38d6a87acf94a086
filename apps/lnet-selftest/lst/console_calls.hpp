// SPDX-License-Identifier: BSD-3-Clause
// The transactions of a console by the names and arguments that lst asks for them, wherever the
// console is: behind a control socket or in this process.
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

// 0 or "" if there is no such argument; the largest number for one that is out of range.
[[nodiscard]] std::uint32_t number_of(const CallArgs& args, const char* name);
[[nodiscard]] std::string text_of(const CallArgs& args, const char* name);
// Of "nodes".
[[nodiscard]] std::expected<CallNodes, Refusal> nodes_of(const CallArgs& args);
[[nodiscard]] Refusal refusal_of(const selftest::Refused& refused);
// `nid`: of the console.
[[nodiscard]] selftest::NewSession new_session_of(const CallArgs& args, const lnet::Nid& nid);

struct ConsoleCall {
  std::string name;  // behind "lst "
  std::string help;
  std::vector<runtime::ArgRow> rows;  // without the key
  runtime::VerbAccess access = runtime::VerbAccess::kReads;
  selftest::Answer<selftest::TransactionId> (*begin)(selftest::Console& console,
                                                     const CallArgs& args, const CallNodes& nodes,
                                                     selftest::WhenDone when_done) = nullptr;
};
// All that need nothing but a console and arguments: no new_session and no add_test.
[[nodiscard]] std::vector<ConsoleCall> console_calls();

}  // namespace plnet::lst

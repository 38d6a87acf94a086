// SPDX-License-Identifier: BSD-3-Clause
// The messages between lst and the console of its session, as JSON. Each half is read by the other:
// a mismatch is an error with the field's name.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/selftest/console/console.hpp"

namespace plnet::lst {

using runtime::Json;

// A console that serves on a control socket.
struct ConsoleHost {
  std::string instance;   // of the node
  std::uint32_t key = 0;  // of its session; 0: none
  bool has_session = false;
  bool background = false;   // made by `lst new_session`, ends with its session
  std::string session;       // its name
  std::uint32_t left_s = 0;  // until it ends without a command
  friend bool operator==(const ConsoleHost&, const ConsoleHost&) = default;
};

// The answer of a verb: its result, or the reason of the console's refusal.
struct Refusal {
  int number = 0;  // errno
  std::string why;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};
[[nodiscard]] Json refusal_json(const Refusal& refusal);
[[nodiscard]] std::optional<Refusal> refusal_of(const Json& answer);

[[nodiscard]] Json to_json(const ConsoleHost& host);
[[nodiscard]] Json to_json(const selftest::SessionInfo& session);
[[nodiscard]] Json to_json(const selftest::StateCounts& counts);
[[nodiscard]] Json to_json(const selftest::GroupInfo& group);
[[nodiscard]] Json to_json(const std::vector<selftest::NodeInfo>& nodes);
[[nodiscard]] Json to_json(const std::vector<std::string>& names);
[[nodiscard]] Json to_json(const selftest::BatchInfo& batch);
[[nodiscard]] Json to_json(const selftest::TestInfo& test);
[[nodiscard]] Json to_json(const selftest::AddTest& test);
[[nodiscard]] Json to_json(const selftest::TransactionResult& result);

// kMissing or kInvalid, with the name of the field.
template <class T>
[[nodiscard]] Outcome<T> from_json(const Json& json);

template <>
Outcome<ConsoleHost> from_json(const Json& json);
template <>
Outcome<Refusal> from_json(const Json& json);
template <>
Outcome<selftest::SessionInfo> from_json(const Json& json);
template <>
Outcome<selftest::GroupInfo> from_json(const Json& json);
template <>
Outcome<std::vector<selftest::NodeInfo>> from_json(const Json& json);
template <>
Outcome<std::vector<std::string>> from_json(const Json& json);
template <>
Outcome<selftest::BatchInfo> from_json(const Json& json);
template <>
Outcome<selftest::TestInfo> from_json(const Json& json);
template <>
Outcome<selftest::AddTest> from_json(const Json& json);
template <>
Outcome<selftest::TransactionResult> from_json(const Json& json);

}  // namespace plnet::lst

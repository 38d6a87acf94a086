// SPDX-License-Identifier: BSD-3-Clause
#include "lib/selftest/console/console_session.hpp"

#include <algorithm>

namespace plnet::selftest {

namespace {

template <class Named>
Named* find_named(const std::vector<std::unique_ptr<Named>>& all, std::string_view wanted) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->name == wanted; });
  return found == all.end() ? nullptr : found->get();
}

}  // namespace

Answer<void> judge_name(std::string_view name) {
  if (name.empty()) return refuse(Refusal::kInvalid, "a name is not empty");
  if (name.size() > kConsoleNameMax) return refuse(Refusal::kNameTooLong);
  if (name.find('\0') != name.npos) return refuse(Refusal::kInvalid, "a name has no NUL");
  return {};
}

std::uint32_t ConsoleBatch::number_on(const ConsoleNode& node, std::uint32_t number) const {
  std::uint32_t parts = 0;
  for (std::uint32_t i = 0; i < number; ++i) {
    const ConsoleTest& test = *tests[i];
    if (test.has_server(node)) ++parts;
    if (test.has_client(node)) ++parts;
  }
  return tests[number - 1]->has_client(node) ? parts : kNoPart;
}

ConsoleGroup* ConsoleSession::group(std::string_view wanted) const {
  return find_named(groups, wanted);
}

ConsoleBatch* ConsoleSession::batch(std::string_view wanted) const {
  return find_named(batches, wanted);
}

Answer<ConsoleGroup*> ConsoleSession::make_group(std::string_view wanted) {
  if (const auto judged = judge_name(wanted); !judged) return std::unexpected(judged.error());
  if (group(wanted) != nullptr) return refuse(Refusal::kExists);
  if (groups.size() >= kConsoleGroupsMax) return refuse(Refusal::kTooMany);
  return groups.emplace_back(std::make_unique<ConsoleGroup>(wanted, nodes)).get();
}

void ConsoleSession::forget(const ConsoleGroup& group) {
  std::erase_if(groups, [&](const auto& one) { return one.get() == &group; });
}

Answer<ConsoleBatch*> ConsoleSession::make_batch(std::string_view wanted, std::uint64_t number) {
  if (const auto judged = judge_name(wanted); !judged) return std::unexpected(judged.error());
  if (batch(wanted) != nullptr) return refuse(Refusal::kExists);
  if (batches.size() >= kConsoleBatchesMax) return refuse(Refusal::kTooMany);
  return batches.emplace_back(std::make_unique<ConsoleBatch>(wanted, number, nodes)).get();
}

}  // namespace plnet::selftest

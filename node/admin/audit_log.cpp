// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/audit_log.hpp"

#include <algorithm>
#include <string>

namespace plnet::node {
namespace {

using runtime::LogLevel;
using runtime::LogLimit;
using runtime::LogSite;

// No limit of rate: only callers with access to changes cause these lines, one request at a time.
constexpr LogSite kCommand{
    LogLevel::kInfo, "command", {"verb", "args", "uid", "pid"}, LogLimit::kCaller};
constexpr LogSite kFrequentCommand{LogLevel::kInfo, "command", {"verb", "args", "uid", "pid"}};
constexpr LogSite kChanged{
    LogLevel::kInfo, "changed", {"what", "from", "to", "uid", "pid"}, LogLimit::kCaller};
constexpr LogSite kChangedMore{
    LogLevel::kInfo, "changed_more", {"count", "uid", "pid"}, LogLimit::kCaller};

}  // namespace

void log_command(const runtime::VerbRow& row, const runtime::Caller& caller,
                 const std::string& args, runtime::Log& log) {
  log.write(row.frequent ? kFrequentCommand : kCommand,
            {row.words, args, std::to_string(caller.uid), std::to_string(caller.pid)});
}

void log_changes(std::span<const runtime::SettingChange> changes, const runtime::Caller& caller,
                 runtime::Log& log) {
  const std::string uid = std::to_string(caller.uid);
  const std::string pid = std::to_string(caller.pid);
  const std::size_t said = std::min(changes.size(), kChangeLinesMax);
  for (const runtime::SettingChange& change : changes.first(said))
    log.write(kChanged, {change.path, change.before, change.after, uid, pid});
  if (said < changes.size()) {
    log.write(kChangedMore, {std::to_string(changes.size() - said), uid, pid});
  }
}

}  // namespace plnet::node

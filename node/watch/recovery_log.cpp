// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/recovery_log.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using runtime::LogLevel;
using runtime::LogLimit;
using runtime::LogSite;

constexpr LogSite kRecovery{LogLevel::kInfo, "recovery", {"what"}, LogLimit::kCaller};
constexpr LogSite kLongRecovery{
    LogLevel::kInfo, "recovery", {"what", "full_list"}, LogLimit::kCaller};

std::string list_of(const std::vector<lnet::Nid>& nids, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i)
    list += (i == 0 ? "" : ", ") + text_of(nids[i]);
  return list;
}

}  // namespace

void RecoveryLog::say(const lnet::RecoveryReport& report, Instant now) {
  say(local_, report.local, true, now);
  say(peers_, report.peers, false, now);
}

void RecoveryLog::say(Kind& kind, const std::vector<lnet::Nid>& nids, bool local, Instant now) {
  if (now < kind.next) return;
  if (nids.empty()) {
    kind = {};
    return;
  }
  const std::size_t shown = std::min(nids.size(), kNidsMax);
  const std::string what = fmt::format("{} {} NIs in recovery (showing {}): {}", nids.size(),
                                       local ? "local" : "peer", shown, list_of(nids, shown));
  if (shown == nids.size()) {
    log_.write(kRecovery, {what});
  } else {
    log_.write(kLongRecovery,
               {what, local ? "lnetctl debug recovery -l" : "lnetctl debug recovery -p"});
  }
  kind.lines = std::min(kind.lines + 1, kPausesMax);
  kind.next = now + kind.lines * kPause;
}

}  // namespace plnet::node

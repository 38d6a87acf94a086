// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/refused_peers.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/watch/standing_warnings.hpp"

namespace plnet::node {
namespace {

using runtime::Json;
using std::chrono::seconds;

constexpr std::size_t kRefusedNamed = 3;
constexpr const char* kShowRules = "lnetctl access show";

std::int64_t in_seconds(Duration time) {
  return std::chrono::duration_cast<seconds>(time).count();
}

}  // namespace

void RefusedPeers::hear(const lnet::RefusedPeer& refused, Instant now, runtime::OnceLog& log) {
  log.tell(text_of(refused.peer), fmt::format("access rule {} forbids it to connect to {} ({})",
                                              refused.rule, text_of(refused.ours), kShowRules));
  if (!known_.contains(refused.peer) && known_.size() >= kKnownMax) {
    std::erase_if(known_, [now](const auto& entry) { return now - entry.second.last_at >= kKept; });
    if (known_.size() >= kKnownMax) return;
  }
  Known& known = known_[refused.peer];
  if (known.attempts == 0 || now - known.last_at >= kKept) known = {.first_at = now};
  known.rule = refused.rule;
  known.last_at = now;
  ++known.attempts;
}

bool RefusedPeers::judge_by(const std::vector<lnet::AccessRule>& rules) {
  if (rules == rules_) return false;
  rules_ = rules;
  clear();
  return true;
}

std::size_t RefusedPeers::count(Instant now) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      known_, [now](const auto& entry) { return now - entry.second.last_at < kKept; }));
}

Json RefusedPeers::warnings(Instant now) const {
  std::vector<std::pair<Instant, const lnet::Nid*>> recent;
  for (const auto& [nid, known] : known_) {
    if (now - known.last_at < kKept) recent.emplace_back(known.last_at, &nid);
  }
  std::ranges::sort(recent, std::greater());
  Json all = Json::array();
  for (const auto& [last_at, nid] : recent) {
    if (all.size() == kRefusedNamed) break;
    const Known& known = known_.at(*nid);
    all.push_back(
        warning(fmt::format("{} is refused: access rule {} forbids it to connect", text_of(*nid),
                            known.rule),
                fmt::format("{} in {} s, the last one {} s ago", counted(known.attempts, "attempt"),
                            in_seconds(now - known.first_at), in_seconds(now - last_at)),
                kShowRules));
  }
  if (recent.size() > all.size()) {
    const std::size_t more = recent.size() - all.size();
    all.push_back(warning(fmt::format("{} {} refused by access rules", counted(more, "more peer"),
                                      agreeing(more, "is", "are")),
                          "", kShowRules));
  }
  return all;
}

}  // namespace plnet::node

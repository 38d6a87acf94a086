// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/reach_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/watch/standing_warnings.hpp"

namespace plnet::node {
namespace {

using runtime::Json;
using runtime::LogLevel;
using runtime::LogLimit;
using runtime::LogSite;
using std::chrono::seconds;

constexpr LogSite kLost{LogLevel::kWarning,
                        "peer_lost",
                        {"nid", "ni", "silent_s", "cause", "check"},
                        LogLimit::kCaller};
constexpr LogSite kNeverReached{
    LogLevel::kWarning, "peer_unreachable", {"nid", "ni", "cause", "check"}, LogLimit::kCaller};
constexpr LogSite kBack{LogLevel::kInfo, "peer_back", {"nid", "ni", "after_s"}, LogLimit::kCaller};
constexpr LogSite kMoreLost{
    LogLevel::kWarning, "peers_lost", {"peers", "such_as", "see"}, LogLimit::kCaller};
constexpr LogSite kMoreBack{LogLevel::kInfo, "peers_back", {"peers", "such_as"}, LogLimit::kCaller};

constexpr std::string_view kSee = "lnetctl peer show lists them with `state: down`";
constexpr std::size_t kExamplesMax = 4;
constexpr std::size_t kWarningsMax = 4;

std::int64_t whole_seconds(Duration time) {
  return std::chrono::duration_cast<seconds>(time).count();
}

}  // namespace

std::string trouble_text(Errc trouble, std::optional<Duration> silent,
                         const std::string& explanation) {
  const std::string since = silent ? fmt::format("no answer for {} s", whole_seconds(*silent))
                                   : std::string("it never answered");
  return fmt::format("{}: {}", since,
                     explanation.empty() ? text_of(trouble) : std::string_view(explanation));
}

void ReachWatch::Shared::add(const lnet::Nid& nid) {
  if (peers++ >= kExamplesMax) return;
  examples += (examples.empty() ? "" : ", ") + text_of(nid);
}

void ReachWatch::clear() {
  counters_.reset();
  known_.clear();
  lost_ = found_ = {};
}

void ReachWatch::hear(const lnet::PeerNews& news, Instant now, const Explain& explain,
                      runtime::Log& log) {
  if (news.forgotten) {
    known_.erase(news.nid);
  } else if (news.trouble) {
    lose(news, now, explain, log);
  } else {
    find(news, now, log);
  }
}

void ReachWatch::lose(const lnet::PeerNews& news, Instant now, const Explain& explain,
                      runtime::Log& log) {
  if (!known_.contains(news.nid) && known_.size() >= kKnownMax) return lost_.add(news.nid);
  Known& known = known_[news.nid];
  const bool was_lost = known.news.trouble.has_value();
  known.news = news;
  if (was_lost) return;  // the cause has changed
  known.lost_at = now;
  known.heard_at.reset();
  if (news.silent) known.heard_at = now - *news.silent;
  if (!takes_line(known, now)) return lost_.add(news.nid);
  const std::string nid = text_of(news.nid);
  const std::string ni = text_of(news.ni);
  const std::string cause(text_of(news.trouble.value_or(Errc::kIo)));
  const std::string check = explain(news);
  if (news.silent) {
    log.write(kLost, {nid, ni, std::to_string(whole_seconds(*news.silent)), cause, check});
  } else {
    log.write(kNeverReached, {nid, ni, cause, check});
  }
}

// A return has a line if the loss had one.
void ReachWatch::find(const lnet::PeerNews& news, Instant now, runtime::Log& log) {
  const auto at = known_.find(news.nid);
  if (at == known_.end() || !at->second.news.trouble) return;
  Known& known = at->second;
  known.news.trouble.reset();
  if (known.named_at != known.lost_at) return found_.add(news.nid);
  log.write(kBack, {text_of(news.nid), text_of(news.ni),
                    std::to_string(whole_seconds(now - known.lost_at))});
}

bool ReachWatch::takes_line(Known& known, Instant now) {
  if (lines_left_ == 0 || (known.named_at && now - *known.named_at < kQuiet)) return false;
  --lines_left_;
  known.named_at = now;
  return true;
}

void ReachWatch::step(Instant now, std::uint64_t unreachable, runtime::Log& log) {
  counters_.set(ReachNow::Id::kUnreachable, unreachable);
  if (now < window_ends_) return;
  window_ends_ = now + kWindow;
  lines_left_ = kLines;
  if (lost_.peers > 0) log.write(kMoreLost, {std::to_string(lost_.peers), lost_.examples, kSee});
  if (found_.peers > 0) log.write(kMoreBack, {std::to_string(found_.peers), found_.examples});
  lost_ = found_ = {};
  if (unreachable == 0) forget_stale(now);
  std::erase_if(known_, [now](const auto& entry) {
    const Known& known = entry.second;
    return !known.news.trouble && (!known.named_at || now - *known.named_at >= kQuiet);
  });
}

// News of a return is lost if very many arrive at the same time, and overtakes news of the loss if
// another shard reports it. The counts of the shards are exact.
void ReachWatch::forget_stale(Instant now) {
  for (auto& [nid, known] : known_) {
    if (known.lost_at + kWindow <= now) known.news.trouble.reset();
  }
}

Json ReachWatch::warnings(Instant now, const Explain& explain) const {
  std::vector<const Known*> lost;
  for (const auto& [nid, known] : known_) {
    if (known.news.trouble) lost.push_back(&known);
  }
  std::ranges::sort(lost, std::greater(), &Known::lost_at);
  Json all = Json::array();
  for (const Known* known : lost) {
    if (all.size() == kWarningsMax) break;
    const std::string nid = text_of(known->news.nid);
    std::optional<Duration> silent;
    if (known->heard_at) silent = now - *known->heard_at;
    all.push_back(
        warning(fmt::format("{} cannot be reached", nid),
                trouble_text(known->news.trouble.value_or(Errc::kIo), silent, explain(known->news)),
                fmt::format("lnetctl route explain '*' {}", nid)));
  }
  const std::uint64_t unreachable = counters_.get(ReachNow::Id::kUnreachable);
  if (unreachable > all.size()) {
    all.push_back(warning(counted(unreachable - all.size(), "more peer") + " cannot be reached", "",
                          "lnetctl peer show"));
  }
  return all;
}

}  // namespace plnet::node

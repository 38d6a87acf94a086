// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/refusal_watch.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "node/watch/standing_warnings.hpp"

namespace plnet::node {
namespace {

using lnet::Cause;
using lnet::RefusedMessage;
using runtime::Json;
using runtime::LogLevel;
using runtime::LogLimit;
using runtime::LogSite;

constexpr LogSite kDropped{LogLevel::kWarning,
                           "messages_dropped",
                           {"why", "net", "such_as_from", "to", "fix"},
                           LogLimit::kCaller};

// About all messages for other nodes, not only those to one network.
bool is_node_wide(Cause cause) {
  return cause == Cause::kDroppedNotRouting || cause == Cause::kDroppedAccess;
}

std::string why_of(const RefusedMessage& refused) {
  if (refused.cause == Cause::kDroppedNotRouting) return "routing is off";
  if (refused.cause == Cause::kDroppedAccess) return "an access rule forbids to forward them";
  return fmt::format("no route to {} can be used", lnet::text_of_net(refused.destination.net()));
}

std::string what_of(const RefusedMessage& refused) {
  return fmt::format("messages {} are dropped: {}",
                     is_node_wide(refused.cause)
                         ? std::string("for other nodes")
                         : "to " + lnet::text_of_net(refused.destination.net()),
                     why_of(refused));
}

// A message of the node itself has no source until it has a path.
std::string source_of(const RefusedMessage& refused) {
  return refused.source == lnet::Nid{} || refused.source.is_any() ? "this node"
                                                                  : text_of(refused.source);
}

std::string fix_of(const RefusedMessage& refused) {
  if (refused.cause == Cause::kDroppedNotRouting)
    return "lnetctl set routing 1; or remove the routes by this node from other nodes";
  if (refused.cause == Cause::kDroppedAccess) {
    return fmt::format("lnetctl access show; lnetctl route explain {} {} names the rule",
                       source_of(refused), text_of(refused.destination));
  }
  return fmt::format(
      "lnetctl route show -v 1; lnetctl route add --net {} --gateway NID adds a route",
      lnet::text_of_net(refused.destination.net()));
}

// "12 in the last minute; ", unless drops were not counted since.
std::string count_text(Cause cause, std::span<const GrowingCause> drops) {
  const auto at = std::ranges::find(drops, cause, &GrowingCause::cause);
  if (at == drops.end() || !is_node_wide(cause)) return {};
  return fmt::format("{} in the last minute; ", at->lately);
}

}  // namespace

void RefusalWatch::hear(const RefusedMessage& refused, Instant now, runtime::Log& log) {
  const std::pair key{refused.cause,
                      is_node_wide(refused.cause) ? lnet::kNetAny : refused.destination.net()};
  if (!known_.contains(key) && known_.size() >= kKnownMax) {
    std::erase_if(known_,
                  [now](const auto& entry) { return now - entry.second.heard_at >= kAgain; });
    if (known_.size() >= kKnownMax) return;
  }
  const auto [at, fresh] = known_.try_emplace(key);
  Known& known = at->second;
  if (now - known.heard_at >= kAgain) known.senders.clear();
  known.last = refused;
  known.heard_at = now;
  if (known.senders.size() <= kSendersMax &&
      std::ranges::find(known.senders, refused.source) == known.senders.end()) {
    known.senders.push_back(refused.source);
  }
  if (!fresh && now - known.said_at < kAgain) return;
  known.said_at = now;
  log.write(kDropped, {why_of(refused), lnet::text_of_net(refused.destination.net()),
                       source_of(refused), text_of(refused.destination), fix_of(refused)});
}

void RefusalWatch::forget_access() {
  std::erase_if(known_,
                [](const auto& entry) { return entry.first.first == Cause::kDroppedAccess; });
}

// Several senders are named: often the question is which nodes are concerned.
std::string RefusalWatch::senders_of(const Known& known) {
  if (known.senders.size() < 2) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(known.senders.size(), kSendersMax); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", text_of(known.senders[i]));
  return fmt::format("senders: {}{}; ", text, known.senders.size() > kSendersMax ? ", …" : "");
}

Json RefusalWatch::warnings(Instant now, std::span<const GrowingCause> drops) const {
  Json all = Json::array();
  for (const auto& [key, known] : known_) {
    if (now - known.heard_at >= kAgain) continue;
    all.push_back(warning(
        what_of(known.last),
        fmt::format("{}{}the last one: from {} to {}", count_text(key.first, drops),
                    senders_of(known), source_of(known.last), text_of(known.last.destination)),
        fix_of(known.last)));
  }
  return all;
}

}  // namespace plnet::node

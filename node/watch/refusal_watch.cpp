// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/refusal_watch.hpp"

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

std::string why_of(const RefusedMessage& refused) {
  if (refused.cause == Cause::kDroppedNotRouting) return "routing is disabled";
  return fmt::format("no route to {} can be used", lnet::text_of_net(refused.destination.net()));
}

// A message of the node itself has no source until it has a path.
std::string source_of(const RefusedMessage& refused) {
  return refused.source == lnet::Nid{} || refused.source.is_any() ? "this node"
                                                                  : text_of(refused.source);
}

std::string fix_of(const RefusedMessage& refused) {
  if (refused.cause == Cause::kDroppedNotRouting)
    return "lnetctl set routing 1; or remove the routes by this node from other nodes";
  return fmt::format(
      "lnetctl route show -v 1; lnetctl route add --net {} --gateway NID adds a route",
      lnet::text_of_net(refused.destination.net()));
}

}  // namespace

void RefusalWatch::hear(const RefusedMessage& refused, Instant now, runtime::Log& log) {
  const std::pair key{refused.cause, refused.destination.net()};
  if (!known_.contains(key) && known_.size() >= kKnownMax) {
    std::erase_if(known_,
                  [now](const auto& entry) { return now - entry.second.heard_at >= kAgain; });
    if (known_.size() >= kKnownMax) return;
  }
  const auto [at, fresh] = known_.try_emplace(key);
  Known& known = at->second;
  known.last = refused;
  known.heard_at = now;
  if (!fresh && now - known.said_at < kAgain) return;
  known.said_at = now;
  log.write(kDropped, {why_of(refused), lnet::text_of_net(refused.destination.net()),
                       source_of(refused), text_of(refused.destination), fix_of(refused)});
}

Json RefusalWatch::warnings(Instant now) const {
  Json all = Json::array();
  for (const auto& [key, known] : known_) {
    if (now - known.heard_at >= kAgain) continue;
    all.push_back(warning(fmt::format("messages to {} are dropped: {}",
                                      lnet::text_of_net(key.second), why_of(known.last)),
                          fmt::format("the last one: from {} to {}", source_of(known.last),
                                      text_of(known.last.destination)),
                          fix_of(known.last)));
  }
  return all;
}

}  // namespace plnet::node

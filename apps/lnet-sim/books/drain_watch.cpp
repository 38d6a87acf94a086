// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/books/drain_watch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/lnet-sim/plan/layout.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

void DrainWatch::begin(std::uint32_t router, std::uint64_t cookie, Instant now, Instant latest,
                       std::uint64_t not_routing) {
  drains_[router] = {.cookie = cookie, .latest = latest, .not_routing = not_routing, .excused = {}};
  drains_[router].excused.resize(drains_.size());
  const auto is_recent = [&](Instant when) { return when != kNever && now - when <= lasting_; };
  for (std::uint32_t other = 0; other < drains_.size(); ++other) {
    const auto pair = troubled_.find(std::minmax(router, other));
    if (is_recent(failed_[router]) || is_recent(failed_[other]) ||
        (pair != troubled_.end() && is_recent(pair->second))) {
      drains_[router].excused[other] = true;
    }
  }
}

void DrainWatch::trouble(std::uint32_t a, std::uint32_t b, Instant now) {
  troubled_[std::minmax(a, b)] = now;
  excuse(a, b);
}

void DrainWatch::trouble(std::uint32_t node, Instant now) {
  failed_[node] = now;
  for (std::uint32_t other = 0; other < drains_.size(); ++other)
    excuse(node, other);
}

void DrainWatch::excuse(std::uint32_t a, std::uint32_t b) {
  if (drains_[a].cookie != 0) drains_[a].excused[b] = true;
  if (drains_[b].cookie != 0) drains_[b].excused[a] = true;
}

bool DrainWatch::promise(std::uint32_t router, Instant now, std::size_t cut_off) {
  Drain& drain = drains_[router];
  drain.promised = cut_off == 0 && now < drain.latest;
  return drain.promised;
}

// The report that a router is drained arrives some time after it was sent. The router forwards
// until then, so messages that it dropped for not routing came after the report. Messages that
// waited there are dropped some time before that is visible here, so all of them are counted at the
// end.
void DrainWatch::end(std::uint32_t router, std::uint64_t not_routing) {
  Drain& drain = drains_[router];
  const std::uint64_t dropped = not_routing - drain.not_routing;
  if (drain.promised && dropped > drain.refused_excused && wrong_.empty()) {
    wrong_ = !drain.refused.empty()
                 ? drain.refused
                 : fmt::format(
                       "router {} has reported that it is drained, and has dropped {} messages "
                       "of other nodes for not routing, {} of excused senders",
                       router, dropped, drain.refused_excused);
  }
  drain = {};
}

void DrainWatch::sent(std::uint32_t node, const Nid& next_hop, const MessageHeader& header) {
  const std::uint32_t router = Layout::node_of(next_hop);
  if (router >= drains_.size() || !drains_[router].promised) return;
  if (router == Layout::node_of(header.destination)) return;
  hold_against(router, node, "was sent there", header.destination);
}

void DrainWatch::refused(std::uint32_t node, const Nid& from, const Nid& destination) {
  const std::uint32_t sender = Layout::node_of(from);
  if (node == Layout::node_of(destination) || sender >= drains_.size()) return;
  Drain& drain = drains_[node];
  if (drain.cookie != 0 && drain.excused[sender]) ++drain.refused_excused;
  hold_against(node, sender, "was refused", destination);
}

void DrainWatch::hold_against(std::uint32_t router, std::uint32_t sender, const char* what,
                              const Nid& destination) {
  if (sender >= drains_.size() || !wrong_.empty()) return;
  Drain& drain = drains_[router];
  if (drain.cookie == 0) return;
  if (drain.excused[sender]) return;
  (drain.promised ? wrong_ : drain.refused) =
      fmt::format("router {} has reported that it is drained, and a message of node {} for {} {}",
                  router, sender, text_of(destination), what);
}

}  // namespace plnet::sim

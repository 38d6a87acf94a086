// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/drain_watch.hpp"

#include <fmt/format.h>

#include "apps/lnet-sim/layout.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

// It is heard some time after it was given. Until then the router forwards, so that whatever it has
// dropped for not routing came after its word.
bool DrainWatch::promise(std::uint32_t router, Instant now, std::size_t cut_off,
                         std::uint64_t not_routing) {
  Drain& drain = drains_[router];
  drain.promised = cut_off == 0 && now < drain.latest;
  if (drain.promised && not_routing > drain.not_routing && wrong_.empty()) wrong_ = drain.refused;
  return drain.promised;
}

void DrainWatch::lost_on_the_way(std::uint32_t node, const Nid& next_hop,
                                 const MessageHeader& header) {
  const std::uint32_t router = Layout::node_of(next_hop);
  if (router == Layout::node_of(header.destination)) return;
  if (router >= drains_.size() || !drains_[router].promised) return;
  hold_against(router, node, "was lost on its way", header);
}

void DrainWatch::refused(std::uint32_t node, const Nid& from, const MessageHeader& header) {
  if (node == Layout::node_of(header.destination)) return;
  hold_against(node, Layout::node_of(from), "was refused", header);
}

void DrainWatch::hold_against(std::uint32_t router, std::uint32_t sender, const char* what,
                              const MessageHeader& header) {
  if (sender >= drains_.size() || !wrong_.empty()) return;
  Drain& drain = drains_[router];
  if (drain.cookie == 0 || drain.excused[sender]) return;
  (drain.promised ? wrong_ : drain.refused) =
      fmt::format("router {} has said that it is drained, and a message of node {} for {} {}",
                  router, sender, text_of(header.destination), what);
}

}  // namespace plnet::sim

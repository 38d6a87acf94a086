// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/pool_keeper.hpp"

#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

using What = StarvingNote::What;

void PoolKeeper::look() {
  PoolFlags starving;
  bool any = false;
  for (const BufferClass each : kAllBufferClasses) {
    starving[each] = look_at(each);
    any = any || starving[each];
  }
  if (any && core_.buffers.grow(starving)) core_.forwarder.hops.look_again();
  for (const BufferClass each : kAllBufferClasses) {
    Watch& watch = watches_[each];
    if (starving[each] && !watch.starving) {
      watch.starving = true;
      post_note(each, What::kBegins);
    } else if (watch.starving && core_.now - watch.seen >= kQuiet) {
      watch.starving = false;
      post_note(each, What::kOver);
    } else if (watch.starving && core_.now - watch.told >= kTellAgain) {
      post_note(each, What::kGoesOn);
    }
    if (watch.starving) core_.sweep_wanted = true;
  }
}

bool PoolKeeper::look_at(BufferClass of) {
  Watch& watch = watches_[of];
  const std::uint32_t waited = core_.buffers.exchange_starved(of);
  if (waited == 0 && !core_.buffers.starves(of)) return false;
  watch.waited += waited;
  watch.seen = core_.now;
  return true;
}

void PoolKeeper::post_note(BufferClass of, What what) {
  Watch& watch = watches_[of];
  PLNET_CHECK((what == What::kOver) != watch.starving, "a note says what the keeper has seen");
  StarvingNote note{.what = what,
                    .of = of,
                    .bound = core_.buffers.bounds()[of],
                    .cpt = core_.cpt,
                    .shard = core_.id,
                    .buffers = core_.buffers.total(of),
                    .waited = std::exchange(watch.waited, 0),
                    .hop = {},
                    .hop_holds = 0};
  watch.told = core_.now;
  find_hop(note);
  (void)notes_.push(note);
}

// Once a minute at most, and as long as HopStalls::sweep().
void PoolKeeper::find_hop(StarvingNote& note) {
  core_.receives.for_each_lent([&](Receive& receive) {
    const Forwarding& forwarding = receive.forwarding;
    if (!receive.forwarded || !forwarding.has_buffer || forwarding.hop == nullptr) return;
    const std::uint32_t held = forwarding.hop->hop.queues[note.of].held;
    if (held <= note.hop_holds) return;
    note.hop = forwarding.hop->peer_ni->nid;
    note.hop_holds = held;
  });
}

}  // namespace plnet::lnet

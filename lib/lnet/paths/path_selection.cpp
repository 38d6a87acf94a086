// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/path_selection.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/paths/path_selector.hpp"

namespace plnet::lnet {
namespace {

struct NoTrace {
  template <class Alternative>
  void lost(const Alternative&, const Alternative&, Criterion) {}
  template <class Alternative>
  void excluded(const Alternative&, Exclusion) {}
};

// A peer with a single NI needs no rotation. When it gets a second one, both count as never used,
// while the kernel sends the next message to the new one: only the first choice differs, and it has
// no meaning.
void use(PathSequences& sequences, const PeerNi& peer_ni) {
  const Peer& peer = *peer_ni.peer.load(std::memory_order_acquire);
  if (peer.single.get()) return;
  const PeerView& seen = peer.seen();
  // Null while discovery moves the NI to another peer.
  if (const PeerNetView* const net = seen.net(peer_ni.net)) sequences.use(*net, peer_ni);
}

void use(PathSequences& sequences, const LocalView& local, const Ni& ni) {
  if (local.nis.size() == 1) return;  // the same for this node
  if (const Net* const net = local.net(ni.net)) sequences.use(*net, ni);
}

// lustre-release lnet/lnet/lib-move.c: lnet_handle_send()
void use(PathSequences& sequences, const LocalView& local, const RouteView& routes,
         const Path& path, bool hinted) {
  use(sequences, *path.next_hop);
  use(sequences, local, *path.ni);
  if (!path.via_router) return;
  use(sequences, *path.destination);
  // With a hint that missed, the kernel does not count a use of the route.
  if (path.route == nullptr || hinted) return;
  const RemoteNet* const net = routes.net(path.route->spec.net);
  if (net != nullptr && net->routes.size() > 1) sequences.use(*path.route);
}

// Another shard may have recorded one meanwhile; that one is used, unless the source was given or
// the gateway depends on the NI.
void record_preference(Path& path, const LocalView& local, bool ni_is_fixed) {
  PLNET_CHECK(path.ni != nullptr && path.destination != nullptr, "a preference is that of a path");
  if (path.destination->preferred_ni.compare_exchange(path.recorded, path.ni)) return;
  path.record_preference = false;
  if (ni_is_fixed || path.via_router) return;
  const Net* const net = local.net(path.destination->net);
  if (net == nullptr) return;
  const auto winner = std::ranges::find(net->nis, path.destination->preferred_ni.get());
  if (winner != net->nis.end()) path.ni = *winner;
}

}  // namespace

Result<Path> select_path(const PathRequest& request, const LocalView& local,
                         const RouteView& routes, PathSequences& sequences,
                         const Parameters& parameters) {
  if (request.destination != nullptr && request.source.is_any()) {
    const bool records = !request.forwarded && !request.response;
    if (Ni* const ni = only_path(*request.destination, records, local, sequences)) {
      Path path;
      path.ni = ni;
      path.next_hop = path.destination = request.destination;
      path.keeps_source = request.forwarded;
      return path;
    }
    if (request.forwarded && request.router == nullptr) {
      const OnlyHop hop = only_gateway(*request.destination, local, routes, sequences);
      if (hop.ni != nullptr) {
        return Path{.ni = hop.ni,
                    .next_hop = hop.next_hop,
                    .destination = request.destination,
                    .route = routes.net(request.destination->net)->routes.front(),
                    .via_router = true,
                    .keeps_source = true};
      }
    }
  }
  NoTrace trace;
  auto chosen = PathSelector(request, local, routes, sequences, parameters, trace).run();
  if (!chosen || chosen->loopback) return chosen;
  PLNET_CHECK(
      chosen->ni != nullptr && chosen->next_hop != nullptr && chosen->destination != nullptr,
      "a path has an NI, a next hop and a destination");
  PLNET_CHECK(chosen->via_router || chosen->next_hop == chosen->destination,
              "without a router the next hop is the destination");
  PLNET_DEBUG_CHECK(chosen->ni->net == chosen->next_hop->net,
                    "the next hop is on the network of the NI");
  if (chosen->record_preference) {
    record_preference(*chosen, local, !request.source.is_any());
  }
  use(sequences, local, routes, *chosen, request.router != nullptr);
  return chosen;
}

Result<Path> explain_path(const PathRequest& request, const LocalView& local,
                          const RouteView& routes, const PathSequences& sequences,
                          const Parameters& parameters, PathTrace& trace) {
  return PathSelector(request, local, routes, sequences, parameters, trace).run();
}

std::string_view text_of(Criterion criterion) {
  switch (criterion) {
#define PLNET_X(name, text) \
  case Criterion::name: return text;
    PLNET_PATH_CRITERIA(PLNET_X)
#undef PLNET_X
  }
  return "unknown";
}

std::string_view text_of(Exclusion exclusion) {
  switch (exclusion) {
#define PLNET_X(name, text) \
  case Exclusion::name: return text;
    PLNET_PATH_EXCLUSIONS(PLNET_X)
#undef PLNET_X
  }
  return "unknown";
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// The rules that need only the header of a message that arrives. Order and results are those of
// lustre-release lnet/lnet/lib-move.c: lnet_parse().
#pragma once

#include <optional>

#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

enum class HeaderVerdict : std::uint8_t {
  kForUs,
  kForward,
  kDrop,    // `cause`; the connection stays
  kReject,  // `cause`; the peer broke the protocol, its connections are closed
};

struct HeaderRuling {
  HeaderVerdict verdict = HeaderVerdict::kForUs;
  Cause cause = Cause::kRejectedType;
};

// `ours`: the NI that received it. `local`: all NIs of this node.
[[nodiscard]] HeaderRuling rule_on_header(const RxOffer& offer, const Ni& ours,
                                          const LocalView& local, bool routing);

// The cause why a message that is not for the NI must not arrive there. Only the network of the NI
// matters, so that reports can ask without an NI.
[[nodiscard]] std::optional<Cause> rejection_of(const Nid& destination, NetId came_in_by,
                                                const LocalView& local);

// The message is a ping or a discovery from another node, with any destination: it proves to a
// router that its network is alive. The message has passed the rules about types and lengths.
[[nodiscard]] bool is_ping_of_another(const MessageHeader& header, const LocalView& local);

}  // namespace plnet::lnet

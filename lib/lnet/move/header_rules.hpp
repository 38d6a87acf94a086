// SPDX-License-Identifier: BSD-3-Clause
// What is decided of a message that arrives by looking at its header alone: the first rows of the
// receive decision tree. Order and outcomes are those of lustre-release lnet/lnet/lib-move.c:
// lnet_parse().
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

// `ours`: the NI that received it. `local`: all that we have.
[[nodiscard]] HeaderRuling rule_on_header(const RxOffer& offer, const Ni& ours,
                                          const LocalView& local, bool routing);

// Of a message that is not for the NI that it comes in by: why nobody may send it so. Its network
// decides, whoever asks what would happen need have no NI.
[[nodiscard]] std::optional<Cause> rejection_of(const Nid& destination, NetId came_in_by,
                                                const LocalView& local);

// A ping or discovery of another node, for whomever: to a router its network is alive. Of what
// passed the rules about types and lengths.
[[nodiscard]] bool is_ping_of_another(const MessageHeader& header, const LocalView& local);

}  // namespace plnet::lnet

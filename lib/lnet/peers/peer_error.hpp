// SPDX-License-Identifier: BSD-3-Clause
// The reasons for which a change of the peer table is refused, with the errno that LNet's tools
// show: lustre-release lnet/lnet/peer.c: lnet_add_peer_ni(), lnet_peer_add(), lnet_peer_add_nid(),
// lnet_del_peer_ni(), lnet_peer_del_nid().
#pragma once

#include <cerrno>
#include <cstdint>
#include <expected>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::lnet {

#define PLNET_PEER_ERRORS(X)                                                                \
  X(kInvalid, EINVAL, Errc::kInvalid, "not a NID that a peer can have")                     \
  X(kNoSuchPeer, ENOENT, Errc::kNotFound, "no such peer, or not one that was configured")   \
  X(kNoSuchNid, ENOENT, Errc::kNotFound, "no peer has this NID")                            \
  X(kNotPrimary, ENODEV, Errc::kInvalid, "not the primary NID of its peer")                 \
  X(kExists, EEXIST, Errc::kExists, "the NID belongs to a configured peer")                 \
  X(kAlready, EALREADY, Errc::kExists, "the NID belongs to a peer whose primary is locked") \
  X(kNotPermitted, EPERM, Errc::kNotPermitted, "the peer was configured otherwise")         \
  X(kNotUnique, ENOTUNIQ, Errc::kInvalid,                                                   \
    "a peer that is not multi-rail has one NID on a network")                               \
  X(kNotChild, ECHILD, Errc::kInvalid, "the NID belongs to another peer")                   \
  X(kBusy, EBUSY, Errc::kBusy, "a gateway, or the primary NID of a peer that has others")   \
  X(kNoMemory, ENOMEM, Errc::kNoMemory, "all peers, interfaces or views are in use")        \
  X(kAgain, EAGAIN, Errc::kAgain, "the NID's former interface is still being given up")

enum class PeerError : std::uint8_t {
#define PLNET_X(name, number, code, text) name,
  PLNET_PEER_ERRORS(PLNET_X)
#undef PLNET_X
};

struct PeerErrorInfo {
  int errno_number;
  Errc code;
  std::string_view text;
};

[[nodiscard]] constexpr PeerErrorInfo info_of(PeerError error) {
  switch (error) {
#define PLNET_X(name, number, code, text) \
  case PeerError::name: return {number, code, text};
    PLNET_PEER_ERRORS(PLNET_X)
#undef PLNET_X
  }
  return {EIO, Errc::kIo, "unknown"};
}

template <class T>
using PeerResult = std::expected<T, PeerError>;

}  // namespace plnet::lnet

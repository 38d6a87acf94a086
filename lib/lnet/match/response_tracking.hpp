// SPDX-License-Identifier: BSD-3-Clause
// The operations that end with an error if their ACK or REPLY does not arrive in time.
#pragma once

#include "lib/base/check.hpp"
#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// lustre-release lnet/lnet/lib-move.c: lnet_response_tracking_enabled(). Not for a PUT without an
// ACK, which has no response. `internal`: a ping or push of LNet itself, which the kernel marks in
// the MD's options.
[[nodiscard]] constexpr bool tracks_response(MessageType type, std::uint32_t md_options,
                                             ResponseTracking setting, bool internal) {
  PLNET_DEBUG_CHECK(type == MessageType::kPut || type == MessageType::kGet,
                    "only PUT and GET have responses");
  if ((md_options & kMdNoTrackResponse) != 0) return false;
  if (internal || (md_options & kMdTrackResponse) != 0) return true;
  if (setting == ResponseTracking::kAll) return true;
  if (type == MessageType::kPut) return setting == ResponseTracking::kPuts;
  return type == MessageType::kGet && setting == ResponseTracking::kGets;
}

}  // namespace plnet::lnet

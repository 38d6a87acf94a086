// SPDX-License-Identifier: BSD-3-Clause
// The negotiation of a connection: the answer to a request, the check of an answer, and the retry
// after a rejection. Without state. lustre-release v2_17_0
// lnet/klnds/o2iblnd/o2iblnd_cb.c: kiblnd_passive_connect(), kiblnd_check_connreply(),
// kiblnd_rejected(), kiblnd_check_reconnect().
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "lib/lnet/names/nid.hpp"
#include "lib/o2iblnd/queue_pair.hpp"
#include "lib/o2iblnd/tunables.hpp"
#include "lib/o2iblnd/wire.hpp"

namespace plnet::o2iblnd {

inline constexpr std::uint16_t kPrivilegedPortEnd = 1024;

// Ourselves, as a request is held against.
struct Identity {
  std::uint64_t nid = 0;
  std::uint64_t incarnation = 0;
  bool ready = true;  // the interface takes connections already, or still
};

// Accepts a request or gives the reason to reject it. `out` is the part that was understood.
[[nodiscard]] std::expected<void, RejectReason> judge_request(std::span<const std::byte> data,
                                                              std::uint16_t source_port,
                                                              const Identity& self,
                                                              const Tunables& tunables,
                                                              Message& out);
// The rejection that says so.
[[nodiscard]] Reject rejection(RejectReason why, const Message& request, const Identity& self,
                               const Tunables& tunables);

// The parameters of a connection as one side asks for them.
struct Offer {
  std::uint16_t version = kVersion2;
  std::uint16_t queue_depth = 0;
  std::uint16_t max_frags = kFragmentsMax;
};

// kProtocol: the answer is none, or grants more than was asked for; kStale: it is for another life.
[[nodiscard]] Result<void> judge_ack(std::span<const std::byte> data, const Offer& asked,
                                     const Identity& self, Message& out);

// The next step after a rejection.
struct Retry {
  bool again = false;  // if anything still waits for the connection
  bool race = false;   // the peer's own request should come first
  Errc cause = Errc::kRefused;
  std::uint16_t version = kVersion2;
  std::optional<std::uint64_t> incarnation;
  std::optional<std::uint16_t> queue_depth;
  std::optional<std::uint16_t> max_frags;
};
[[nodiscard]] Retry judge_reject(RejectKind kind, std::span<const std::byte> data,
                                 const Offer& asked);

// Both connect at once: the request of the greater one stays. Up to Lustre 2.15 NIDs are compared
// as numbers, since then by a hash of them.
enum class RaceOrder : std::uint8_t { kHash, kNumber };
[[nodiscard]] bool is_lower(std::uint64_t nid, std::uint64_t other, RaceOrder order);
inline constexpr unsigned kRacesMax = 20;  // in a row, then the lower one may
// Attempts in a row without a pause.
inline constexpr unsigned kReconnectsAtOnce = 10;

}  // namespace plnet::o2iblnd

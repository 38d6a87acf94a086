// SPDX-License-Identifier: BSD-3-Clause
// The memory that a program offers to the network, and the events about it: memory descriptors
// (MD), match entries (ME), events. Nouns, bits and fields are LNet's: lustre-release
// lnet/include/uapi/linux/lnet/lnet-types.h and lnet/lnet/lib-msg.c: lnet_build_msg_event().
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/shard_id.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

inline constexpr std::uint32_t kPortalsMax = 64;
using PortalId = std::uint32_t;

enum MdOption : std::uint32_t {
  kMdPut = 0x0001,           // accepts PUT
  kMdGet = 0x0002,           // accepts GET
  kMdManageRemote = 0x0004,  // the offset comes with the request
  kMdTruncate = 0x0010,      // a longer message is cut, else dropped
  kMdAckDisable = 0x0020,
  kMdMaxSize = 0x0080,  // max_size is valid
  kMdTrackResponse = 0x0400,
  kMdNoTrackResponse = 0x0800,
};

inline constexpr std::int32_t kThresholdInfinite = -1;

// Names an MD or ME of the node. Calls refuse a handle whose object is gone.
struct MdHandle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // 0: none
  ShardId shard = 0;

  [[nodiscard]] bool is_none() const { return generation == 0; }
  friend bool operator==(const MdHandle&, const MdHandle&) = default;
};
struct MeHandle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  ShardId shard = 0;

  friend bool operator==(const MeHandle&, const MeHandle&) = default;
};

enum class EventKind : std::uint8_t { kGet = 1, kPut, kReply, kAck, kSend, kUnlink };

struct Event {
  EventKind kind = EventKind::kUnlink;
  bool unlinked = false;  // the last event of its MD
  MessageType message_type = MessageType::kPut;
  PortalId portal = 0;
  ProcessId target{Nid::any(), kPidAny};
  ProcessId initiator{Nid::any(), kPidAny};  // the primary NID of the sender
  ProcessId source{Nid::any(), kPidAny};     // as in the header
  Nid sender = Nid::any();  // the last hop; for kSend: the chosen NID of the target
  std::uint64_t match_bits = 0;
  std::uint64_t header_data = 0;
  std::uint32_t requested_length = 0;
  std::uint32_t accepted_length = 0;
  std::uint32_t offset = 0;  // in the MD
  Result<void> status;
  MdHandle md;
  void* user = nullptr;
  std::uint32_t md_options = 0;
};

// Called on the shard that owns the MD, inside its turn; may call the shard's API.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_event(const Event& event) = 0;
};

struct MdSpec {
  // The list stays in place until the event with `unlinked`.
  std::span<const Fragment> fragments;
  std::uint32_t length = 0;
  std::int32_t threshold = kThresholdInfinite;
  std::uint32_t max_size = 0;
  std::uint32_t options = 0;  // MdOption
  void* user = nullptr;
  EventHandler* handler = nullptr;  // null: no events
  bool unlink_when_exhausted = true;
};

enum class MePosition : std::uint8_t { kAfter, kBefore };

struct MeSpec {
  PortalId portal = 0;
  ProcessId match{Nid::any(), kPidAny};
  std::uint64_t match_bits = 0;
  std::uint64_t ignore_bits = 0;
  bool unlink_with_md = true;
  MePosition position = MePosition::kAfter;
};

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
// The wire format of a Lustre RPC: the message with its buffers, the body in the first of them, and
// the parts of others that name an operation. In the sender's byte order. Checked against
// lustre-release v2_17_0 lustre/include/uapi/linux/lustre/lustre_idl.h: struct lustre_msg_v2,
// ptlrpc_body_v3, ldlm_request, ldlm_reply, ldlm_intent, obd_ioobj, niobuf_remote,
// out_update_header; lustre/ptlrpc/wiretest.c.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plnet::trace {

inline constexpr std::uint32_t kRpcMagic = 0x0bd00bd3;
// The kernel refuses more buffers (LUSTRE_MSG_MAX_BUFCOUNT is lower still in most releases).
inline constexpr std::uint32_t kRpcBuffersMax = 64;

struct RpcMessageWire {
  std::uint32_t buffer_count = 0;
  std::uint32_t flavor = 0;
  std::uint32_t magic = 0;
  std::uint32_t reply_size = 0;
  std::uint32_t checksum = 0;
  std::uint32_t flags = 0;
  std::uint32_t opcode = 0;  // of a request in a batch; the result in its reply
  std::uint32_t padding = 0;
  // Then the lengths of the buffers, then the buffers, each at a multiple of eight.
};
static_assert(sizeof(RpcMessageWire) == 32 && offsetof(RpcMessageWire, magic) == 8);
static_assert(offsetof(RpcMessageWire, checksum) == 16 && offsetof(RpcMessageWire, flags) == 20);
static_assert(offsetof(RpcMessageWire, opcode) == 24);

inline constexpr std::uint32_t kRpcFlagAdaptiveTimeouts = 1;

// Policies of a flavor.
inline constexpr std::uint32_t kFlavorPolicyMask = 0xf;
inline constexpr std::uint32_t kFlavorNull = 0;
inline constexpr std::uint32_t kFlavorPlain = 1;
inline constexpr std::uint32_t kFlavorGss = 2;
inline constexpr unsigned kFlavorServiceShift = 8;
inline constexpr std::uint32_t kFlavorPrivacy = 3;

inline constexpr std::uint32_t kRpcRequest = 4711;
inline constexpr std::uint32_t kRpcError = 4712;
inline constexpr std::uint32_t kRpcReply = 4713;

inline constexpr std::size_t kJobIdBytes = 32;

struct RpcBodyWire {
  std::uint64_t handle = 0;
  std::uint32_t type = 0;
  std::uint32_t version = 0;
  std::uint32_t opcode = 0;
  std::int32_t status = 0;  // reply: negative errno; request: the process that caused it
  std::uint64_t last_xid = 0;
  std::uint16_t tag = 0;
  std::uint16_t padding0 = 0;
  std::uint32_t project = 0;
  std::uint64_t last_committed = 0;
  std::uint64_t transaction = 0;
  std::uint32_t flags = 0;
  std::uint32_t connect_flags = 0;
  std::uint32_t connections = 0;
  std::uint32_t timeout_s = 0;
  std::uint32_t service_time_s = 0;
  std::uint32_t limit = 0;
  std::uint64_t lock_volume = 0;
  std::array<std::uint64_t, 4> versions_before{};
  std::uint64_t bulk_bits = 0;
  std::array<std::uint64_t, 2> padding1{};
  std::uint32_t uid = 0;  // with kRpcPackIds
  std::uint32_t gid = 0;
  // Not in version 2 of the body.
  std::array<char, kJobIdBytes> job{};
};
static_assert(sizeof(RpcBodyWire) == 184 && offsetof(RpcBodyWire, type) == 8);
static_assert(offsetof(RpcBodyWire, version) == 12 && offsetof(RpcBodyWire, opcode) == 16);
static_assert(offsetof(RpcBodyWire, status) == 20 && offsetof(RpcBodyWire, last_xid) == 24);
static_assert(offsetof(RpcBodyWire, tag) == 32 && offsetof(RpcBodyWire, project) == 36);
static_assert(offsetof(RpcBodyWire, last_committed) == 40);
static_assert(offsetof(RpcBodyWire, transaction) == 48 && offsetof(RpcBodyWire, flags) == 56);
static_assert(offsetof(RpcBodyWire, connect_flags) == 60);
static_assert(offsetof(RpcBodyWire, connections) == 64 && offsetof(RpcBodyWire, timeout_s) == 68);
static_assert(offsetof(RpcBodyWire, service_time_s) == 72 && offsetof(RpcBodyWire, limit) == 76);
static_assert(offsetof(RpcBodyWire, lock_volume) == 80);
static_assert(offsetof(RpcBodyWire, versions_before) == 88);
static_assert(offsetof(RpcBodyWire, bulk_bits) == 120 && offsetof(RpcBodyWire, uid) == 144);
static_assert(offsetof(RpcBodyWire, gid) == 148 && offsetof(RpcBodyWire, job) == 152);

inline constexpr std::uint32_t kRpcResent = 0x2;
inline constexpr std::uint32_t kRpcPackIds = 0x200;

// --- Locks ---

struct LockDescriptorWire {
  std::uint32_t type = 0;
  std::uint32_t padding = 0;
  std::array<std::uint64_t, 4> resource{};
  std::uint32_t wanted_mode = 0;
  std::uint32_t granted_mode = 0;
  std::array<std::uint64_t, 4> policy{};  // extent: start, end, group; inode bits: bits
};
static_assert(sizeof(LockDescriptorWire) == 80 && offsetof(LockDescriptorWire, resource) == 8);
static_assert(offsetof(LockDescriptorWire, wanted_mode) == 40);
static_assert(offsetof(LockDescriptorWire, granted_mode) == 44);
static_assert(offsetof(LockDescriptorWire, policy) == 48);

// ldlm_request: flags, count, descriptor, then `count` handles. ldlm_reply: flags, padding,
// descriptor, handle, two results.
inline constexpr std::size_t kLockRequestDescriptor = 8;
inline constexpr std::size_t kLockRequestHandles = 88;
inline constexpr std::size_t kLockReplyResult1 = 96;

inline constexpr std::uint32_t kLockExtent = 11;
inline constexpr std::uint32_t kLockFlock = 12;
inline constexpr std::uint32_t kLockInodeBits = 13;

// --- Bulk I/O ---

struct IoObjectWire {
  std::uint64_t id_low = 0;
  std::uint64_t id_high = 0;
  std::uint32_t descriptors = 0;  // high half: bulk descriptors less one
  std::uint32_t buffers = 0;
};
static_assert(sizeof(IoObjectWire) == 24 && offsetof(IoObjectWire, descriptors) == 16);
static_assert(offsetof(IoObjectWire, buffers) == 20);

struct RemoteBufferWire {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t flags = 0;
};
static_assert(sizeof(RemoteBufferWire) == 16 && offsetof(RemoteBufferWire, length) == 8);

// --- Updates between servers: a header, then a request {magic, count, padding}, then updates ---

inline constexpr std::size_t kUpdateHeaderCount = 4;
inline constexpr std::size_t kUpdateHeaderInline = 8;
inline constexpr std::size_t kUpdateFirstType = 24;

}  // namespace plnet::trace

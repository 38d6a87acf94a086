// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/decode/rpc.hpp"

#include <algorithm>

#include "lib/trace/decode/rpc_opcodes.hpp"

namespace plnet::trace {

namespace {

constexpr std::size_t round_up_8(std::size_t value) {
  return (value + 7) & ~std::size_t{7};
}

constexpr std::size_t header_bytes(std::uint32_t buffers) {
  return round_up_8(sizeof(RpcMessageWire) + 4 * std::size_t{buffers});
}

bool wraps_another(std::uint32_t flavor) {
  const std::uint32_t policy = flavor & kFlavorPolicyMask;
  return policy == kFlavorPlain || policy == kFlavorGss;
}

bool hides_body(std::uint32_t flavor) {
  return (flavor & kFlavorPolicyMask) == kFlavorGss &&
         ((flavor >> kFlavorServiceShift) & 0xf) == kFlavorPrivacy;
}

// lustre-release lustre/ptlrpc/pack_generic.c: lustre_msg_calc_cksum(): without a final inversion.
std::uint32_t crc32(std::span<const std::byte> bytes) {
  constexpr std::uint32_t kPolynomial = 0xedb88320;
  std::uint32_t crc = ~0U;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  }
  return crc;
}

}  // namespace

std::optional<Rpc> Rpc::parse(std::span<const std::byte> payload) {
  Rpc rpc;
  if (!rpc.open(payload)) return std::nullopt;
  rpc.outer_flavor_ = rpc.message_.get(&RpcMessageWire::flavor).value_or(0);
  rpc.opaque_ = hides_body(rpc.outer_flavor_);
  if (rpc.opaque_) return rpc;
  if (wraps_another(rpc.outer_flavor_)) {
    Rpc inner;
    if (!inner.open(rpc.buffer(1))) {
      rpc.opaque_ = true;
      return rpc;
    }
    inner.outer_flavor_ = rpc.outer_flavor_;
    rpc = inner;
  }
  rpc.body_ = Captured<RpcBodyWire>(rpc.buffer(0), rpc.swapped_);
  return rpc;
}

bool Rpc::open(std::span<const std::byte> payload) {
  const auto magic = number_at<std::uint32_t>(payload, offsetof(RpcMessageWire, magic), false);
  if (!magic || (*magic != kRpcMagic && *magic != std::byteswap(kRpcMagic))) return false;
  bytes_ = payload;
  swapped_ = *magic != kRpcMagic;
  message_ = Captured<RpcMessageWire>(payload, swapped_);
  const std::uint32_t count = message_.get(&RpcMessageWire::buffer_count).value_or(0);
  buffer_count_ = count <= kRpcBuffersMax ? count : 0;
  return true;
}

std::optional<std::uint32_t> Rpc::buffer_length(std::uint32_t index) const {
  if (index >= buffer_count_) return std::nullopt;
  return number_at<std::uint32_t>(bytes_, sizeof(RpcMessageWire) + 4 * std::size_t{index},
                                  swapped_);
}

std::span<const std::byte> Rpc::buffer(std::uint32_t index) const {
  if (index >= buffer_count_) return {};
  std::size_t at = header_bytes(buffer_count_);
  for (std::uint32_t i = 0; i < index; ++i) {
    const auto length = buffer_length(i);
    if (!length) return {};
    at += round_up_8(*length);
  }
  const auto length = buffer_length(index);
  if (!length || at >= bytes_.size()) return {};
  return bytes_.subspan(at, std::min<std::size_t>(*length, bytes_.size() - at));
}

std::optional<std::string> Rpc::job() const {
  const auto job = body_.get(&RpcBodyWire::job);
  if (!job) return std::nullopt;
  return std::string(job->begin(), std::ranges::find(*job, '\0'));
}

bool Rpc::is_early_reply(std::uint32_t offset) const {
  const std::uint32_t flags = message_.get(&RpcMessageWire::flags).value_or(0);
  return type() == kRpcReply && offset == 0 && (flags & kRpcFlagAdaptiveTimeouts) != 0 &&
         message_.get(&RpcMessageWire::checksum).value_or(0) != 0;
}

std::optional<bool> Rpc::checksum_is_right() const {
  const auto sum = message_.get(&RpcMessageWire::checksum);
  const auto body = buffer(0);
  if (!sum || body.size() != buffer_length(0)) return std::nullopt;
  return crc32(body) == *sum;
}

std::optional<std::uint64_t> Rpc::intent() const {
  // A lock request without an intent has two buffers; others may follow one only.
  constexpr std::uint32_t kIntentBuffer = 2;
  if (opcode() != opcode::kLdlmEnqueue || !is_request()) return std::nullopt;
  if (buffer_length(kIntentBuffer) != sizeof(std::uint64_t)) return std::nullopt;
  return in_buffer<std::uint64_t>(kIntentBuffer);
}

std::optional<std::uint32_t> Rpc::reint() const {
  constexpr std::uint64_t kOpenOrCreate = 3;
  constexpr std::uint32_t kRecordBytes = 136;
  if (!is_request()) return std::nullopt;
  std::uint32_t index = 0;
  if (opcode() == opcode::kMdsReint) {
    index = 1;
  } else if (opcode() == opcode::kMdsClose) {
    index = 2;
  } else if ((intent().value_or(0) & kOpenOrCreate) != 0) {
    index = 3;
  } else {
    return std::nullopt;
  }
  if (index > 1 && buffer_length(index) != kRecordBytes) return std::nullopt;
  return in_buffer<std::uint32_t>(index);
}

std::optional<std::uint32_t> Rpc::fld_operation() const {
  if (opcode() != opcode::kFldQuery || !is_request()) return std::nullopt;
  return in_buffer<std::uint32_t>(1);
}

std::optional<std::uint32_t> Rpc::sequence_operation() const {
  if (opcode() != opcode::kSeqQuery || !is_request()) return std::nullopt;
  return in_buffer<std::uint32_t>(1);
}

std::optional<LockFields> Rpc::lock() const {
  const auto number = opcode();
  if (!number || *number < opcode::kLdlmEnqueue || *number > opcode::kLdlmGlimpse) {
    return std::nullopt;
  }
  const auto bytes = buffer(1);
  if (bytes.size() <= kLockRequestDescriptor) return std::nullopt;
  LockFields fields{
      .descriptor = Captured<LockDescriptorWire>(bytes.subspan(kLockRequestDescriptor), swapped_),
      .handle = in_buffer<std::uint64_t>(1, kLockRequestHandles)};
  if (is_request()) {
    fields.handles = in_buffer<std::uint32_t>(1, 4);
  } else {
    fields.disposition = in_buffer<std::uint64_t>(1, kLockReplyResult1);
  }
  return fields;
}

std::optional<BulkFields> Rpc::bulk() const {
  constexpr std::uint32_t kObjects = 2;
  constexpr std::uint32_t kBuffers = 3;
  constexpr std::uint32_t kShortIo = 5;
  if (!is_request() || (opcode() != opcode::kOstRead && opcode() != opcode::kOstWrite)) {
    return std::nullopt;
  }
  const auto object = buffer(kObjects);
  if (object.empty()) return std::nullopt;
  BulkFields fields{.object = Captured<IoObjectWire>(object, swapped_)};
  if (const auto high = fields.object.get(&IoObjectWire::descriptors)) {
    fields.descriptors = (*high >> 16U) + 1;
  }
  const auto buffers = buffer(kBuffers);
  fields.first = Captured<RemoteBufferWire>(buffers, swapped_);
  for (std::size_t at = 0; at + sizeof(RemoteBufferWire) <= buffers.size();
       at += sizeof(RemoteBufferWire)) {
    fields.bytes +=
        in_buffer<std::uint32_t>(kBuffers, at + offsetof(RemoteBufferWire, length)).value_or(0);
    ++fields.buffers;
  }
  fields.short_io_bytes = buffer_length(kShortIo).value_or(0);
  return fields;
}

std::optional<UpdateFields> Rpc::updates() const {
  if (opcode() != opcode::kOutUpdate || !is_request()) return std::nullopt;
  UpdateFields fields{.count = in_buffer<std::uint32_t>(1, kUpdateHeaderCount)};
  if (in_buffer<std::uint32_t>(1, kUpdateHeaderInline).value_or(0) > 0) {
    fields.first_type = in_buffer<std::uint16_t>(1, kUpdateFirstType);
  }
  return fields;
}

}  // namespace plnet::trace

// SPDX-License-Identifier: BSD-3-Clause
// A Lustre RPC (ptlrpc message) in a captured payload: the message, its body and its operation.
// Reads the captured bytes only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/trace/decode/captured.hpp"
#include "lib/trace/decode/rpc_wire.hpp"

namespace plnet::trace {

// Fields of a lock request or reply.
struct LockFields {
  Captured<LockDescriptorWire> descriptor;
  std::optional<std::uint32_t> handles;      // request
  std::optional<std::uint64_t> handle;       // the first one
  std::optional<std::uint64_t> disposition;  // reply of an intent
};

struct BulkFields {
  Captured<IoObjectWire> object;
  Captured<RemoteBufferWire> first;
  std::uint64_t bytes = 0;    // of all buffers that were captured
  std::uint32_t buffers = 0;  // captured
  std::uint32_t descriptors = 1;
  std::size_t short_io_bytes = 0;  // data within the request
};

struct UpdateFields {
  std::optional<std::uint32_t> count;
  std::optional<std::uint16_t> first_type;  // unless the updates travel as bulk
};

class Rpc {
 public:
  // Nothing: the payload does not begin with the magic of an RPC, in either byte order.
  [[nodiscard]] static std::optional<Rpc> parse(std::span<const std::byte> payload);

  [[nodiscard]] bool swapped() const { return swapped_; }
  [[nodiscard]] const Captured<RpcMessageWire>& message() const { return message_; }
  [[nodiscard]] const Captured<RpcBodyWire>& body() const { return body_; }
  [[nodiscard]] std::uint32_t flavor() const { return outer_flavor_; }
  // The body is encrypted: only the message is readable.
  [[nodiscard]] bool is_opaque() const { return opaque_; }

  [[nodiscard]] std::uint32_t buffer_count() const { return buffer_count_; }
  // As the sender states it. Nothing: no such buffer, or its length was not captured.
  [[nodiscard]] std::optional<std::uint32_t> buffer_length(std::uint32_t index) const;
  // The captured part of a buffer.
  [[nodiscard]] std::span<const std::byte> buffer(std::uint32_t index) const;

  template <class Field>
  [[nodiscard]] auto get(Field RpcBodyWire::* member) const {
    return body_.get(member);
  }
  [[nodiscard]] std::optional<std::uint32_t> opcode() const { return get(&RpcBodyWire::opcode); }
  [[nodiscard]] std::optional<std::uint32_t> type() const { return get(&RpcBodyWire::type); }
  [[nodiscard]] bool is_request() const { return type() == kRpcRequest; }
  // Up to the first NUL. Nothing: not captured, or a body of version 2.
  [[nodiscard]] std::optional<std::string> job() const;
  // A reply that only extends the deadline. `offset`: of its PUT.
  [[nodiscard]] bool is_early_reply(std::uint32_t offset) const;
  // True if the checksum of an early reply is right; nothing if the body was not captured.
  [[nodiscard]] std::optional<bool> checksum_is_right() const;

  // Operations within operations. Nothing: this RPC has none, or it was not captured.
  [[nodiscard]] std::optional<std::uint64_t> intent() const;
  [[nodiscard]] std::optional<std::uint32_t> reint() const;
  [[nodiscard]] std::optional<std::uint32_t> fld_operation() const;
  [[nodiscard]] std::optional<std::uint32_t> sequence_operation() const;
  [[nodiscard]] std::optional<LockFields> lock() const;
  [[nodiscard]] std::optional<BulkFields> bulk() const;
  [[nodiscard]] std::optional<UpdateFields> updates() const;

 private:
  Rpc() = default;
  [[nodiscard]] bool open(std::span<const std::byte> payload);
  template <class Number>
  [[nodiscard]] std::optional<Number> in_buffer(std::uint32_t index, std::size_t offset = 0) const {
    return number_at<Number>(buffer(index), offset, swapped_);
  }

  std::span<const std::byte> bytes_;
  Captured<RpcMessageWire> message_;
  Captured<RpcBodyWire> body_;
  std::uint32_t outer_flavor_ = 0;
  std::uint32_t buffer_count_ = 0;
  bool swapped_ = false;
  bool opaque_ = false;
};

// xids of a client grow by 128 for each RPC; request, replies and bulk share the bits above.
[[nodiscard]] constexpr std::uint64_t rpc_group(std::uint64_t match_bits) {
  return match_bits & ~std::uint64_t{0x7f};
}

}  // namespace plnet::trace

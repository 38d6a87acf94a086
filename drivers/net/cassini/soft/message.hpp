// SPDX-License-Identifier: BSD-3-Clause
// An operation on its way: the request of a command, its delivery at the target, its outcome.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drivers/net/cassini/soft/codes.hpp"
#include "drivers/net/cassini/soft/wire.hpp"

namespace plnet::cassini::soft {

enum class Operation : std::uint8_t { kPut, kGet, kAtomic, kFetchingAtomic };
constexpr bool is_atomic(Operation operation) {
  return operation == Operation::kAtomic || operation == Operation::kFetchingAtomic;
}
// The target writes to its memory.
constexpr bool stores(Operation operation) {
  return operation != Operation::kGet;
}
// The initiator gets bytes back.
constexpr bool fetches(Operation operation) {
  return operation == Operation::kGet || operation == Operation::kFetchingAtomic;
}

struct Message {
  Operation operation = Operation::kPut;
  bool restricted = false;
  bool flush = false;  // the answer says that the bytes are visible at the target, as always here
  std::uint8_t traffic_class = 0;
  std::uint8_t index = 0;  // portal index within the PID
  std::uint16_t vni = 0;
  std::uint16_t pid = 0;
  NicAddress source = 0;
  NicAddress destination = 0;
  std::uint32_t initiator = 0;
  std::uint32_t length = 0;
  // A rendezvous: the target takes `eager_length` bytes at once, and `remote_offset` is the device
  // address at the initiator from which a GET reads the rest.
  bool rendezvous = false;
  std::uint8_t rendezvous_id = 0;
  std::uint32_t eager_length = 0;
  std::uint64_t remote_offset = 0;
  std::uint64_t match_bits = 0;
  std::uint64_t header_data = 0;
};

constexpr std::uint32_t eager_bytes(const Message& message) {
  if (!message.rendezvous) return message.length;
  return message.eager_length < message.length ? message.eager_length : message.length;
}

// Memory at the initiator: by device address, or bytes that came with the command. An atomic
// operation carries an AtomicRequest as bytes, and the address is that of its result.
struct LocalBuffer {
  std::uint16_t group = 0;
  std::uint8_t lac = 0;
  std::uint64_t iova = 0;
  std::span<const std::byte> immediate;
};

// Events and counts that end an operation.
struct Completion {
  std::uint64_t user_ptr = 0;
  std::uint32_t queue_generation = 0;  // of the command queue that began the operation
  std::uint16_t queue = 0;
  std::uint16_t eq = 0;  // 0: no events
  std::uint16_t ct = 0;
  bool send_disable = false;
  bool success_disable = false;
  bool ct_send = false, ct_reply = false, ct_ack = false, ct_bytes = false;
};

struct Outcome {
  ReturnCode code = ReturnCode::kOk;
  std::uint32_t mlength = 0;
  ListKind list = ListKind::kPriority;
  bool target_error = false;  // the code comes from the target
  bool retried = false;
};

// An operation that matched and is being moved. Plain data: a transport may keep it.
struct Delivery {
  Outcome outcome;
  std::uint16_t portal = 0;  // 0: none, nothing to finish
  std::uint16_t group = 0;
  std::uint32_t portal_generation = 0;
  std::uint16_t buffer_id = 0;
  std::uint16_t ct = 0;
  std::uint8_t lac = 0;
  bool auto_unlinked = false;
  bool unlink_event = false;
  bool success_disable = false;
  bool comm_disable = false;
  bool ct_comm = false, ct_bytes = false;
  bool long_event = false;
  bool cut = false;               // its entry was invalidated: access no memory
  std::uint8_t header_bytes = 0;  // before the payload: see request_header.hpp
  std::uint64_t start = 0;
};

}  // namespace plnet::cassini::soft

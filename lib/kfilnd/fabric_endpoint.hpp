// SPDX-License-Identifier: BSD-3-Clause
// The drivers of kfilnd: one reliable-datagram endpoint context per shard, with tagged buffers that
// the peer reads from or writes to. Implemented by drivers/net/cassini, drivers/net/ofi and
// drivers/net/sim; drivers/net/fault stacks on any of them.
//
// One EndpointDriver serves one shard, and only that shard calls it; no call makes an event before
// it returns. Messages have no order: any message may overtake any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/payload.hpp"

namespace plnet::kfilnd {

// The driver's name for a peer's process, from resolve(). Together with a receive context (an 8-bit
// number from the peer's HELLO) it is the destination of a message.
using PeerAddress = std::uint64_t;
inline constexpr PeerAddress kNoAddress = ~0ULL;

struct Target {
  PeerAddress address = kNoAddress;
  std::uint8_t receive_context = 0;
};

// The initiator's name for a bulk transfer: the low 16 bits of the session key, then the key of the
// transfer.
using Tag = std::uint32_t;

enum class FabricEvent : std::uint8_t {
  kSent,            // an untagged message was delivered to the peer's NIC, or failed
  kMessage,         // an untagged message arrived in a multi-receive buffer
  kBufferUnlinked,  // the NIC has returned a full multi-receive buffer: its last event
  kTaggedRead,      // the peer has read our tagged buffer: a bulk PUT is done
  kTaggedWritten,   // the peer has written our tagged buffer: a bulk GET is done
  kTaggedMessage,   // the peer has sent 64 bits instead of using the buffer
  kTaggedFailed,
  kTaggedCancelled,  // no operation of a peer can reach the buffer any more
  kRemoteDone,       // our read, write or tagged message at the peer is done, or has failed
};

struct FabricCompletion {
  FabricEvent event = FabricEvent::kSent;
  Result<void> status;
  std::uint64_t cookie = 0;      // of the operation, or of the multi-receive buffer
  std::uint32_t length = 0;      // kMessage, kTaggedRead, kTaggedWritten: the bytes moved
  std::uint32_t offset = 0;      // kMessage: its place in the buffer
  bool buffer_unlinked = false;  // kMessage: the last one in its buffer
  std::uint64_t data = 0;        // kTaggedMessage: host order
};

class EndpointEvents {
 public:
  virtual ~EndpointEvents() = default;

  // Hot.
  virtual void on_completions(std::span<const FabricCompletion> burst) = 0;
  // Cold. The state of the link has changed, or the NIC's address, and with it our NID. Until the
  // first call the link counts as usable.
  virtual void on_link(bool usable, std::uint64_t nic_address) = 0;
};

struct EndpointLimits {
  std::uint8_t receive_contexts = 1;  // of this node's process
  std::uint8_t receive_context = 0;   // this endpoint's own
  unsigned peer_contexts = 256;       // the most that a peer's process can have
  unsigned fragments_max = 1;         // of one operation; the driver bounces or splits above
  unsigned operations_max = 0;        // in flight
  std::uint32_t message_bytes_max = 4096;
};

// Each call that posts an operation returns kAgain if there is no room now: completions make room;
// if none is outstanding, try again in the next turn. Otherwise the operation ends in exactly one
// completion with its cookie, and its payload stays in place until then.
class EndpointDriver {
 public:
  virtual ~EndpointDriver() = default;

  // Hot. `header` is copied before this returns; `payload` is gathered behind it.
  [[nodiscard]] virtual Result<void> send(const Target& to, std::span<const std::byte> header,
                                          const lnet::Payload& payload, std::uint64_t cookie) = 0;
  // Hot. Lays `buffer` open for one operation of the process of `from`, from any of its contexts,
  // that names `tag`: a read of a PUT's source or a write into a GET's sink. Ends in one of the
  // kTagged events.
  [[nodiscard]] virtual Result<void> post_tagged(const Target& from, Tag tag, bool peer_reads,
                                                 const lnet::Payload& buffer,
                                                 std::uint64_t cookie) = 0;
  // Hot. Asks for kTaggedCancelled. kNotFound: an operation already uses the buffer, and its
  // completion follows.
  [[nodiscard]] virtual Result<void> cancel_tagged(Tag tag) = 0;
  // Hot. For the target of a bulk request: these read from, write to, or answer the peer's buffer.
  [[nodiscard]] virtual Result<void> read_tagged(const Target& peer, Tag tag,
                                                 const lnet::Payload& into,
                                                 std::uint64_t cookie) = 0;
  [[nodiscard]] virtual Result<void> write_tagged(const Target& peer, Tag tag,
                                                  const lnet::Payload& from,
                                                  std::uint64_t cookie) = 0;
  [[nodiscard]] virtual Result<void> answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                                   std::uint64_t cookie) = 0;
  // Hot. Messages are placed one behind the other until less than message_bytes_max is left.
  [[nodiscard]] virtual Result<void> post_multi_receive(const Fragment& buffer,
                                                        std::uint64_t cookie) = 0;

  // Cold. Address of the process `service` (the network number) on the NIC `nic_address`.
  [[nodiscard]] virtual Result<PeerAddress> resolve(std::uint64_t nic_address,
                                                    unsigned service) = 0;
  virtual void forget(PeerAddress address) = 0;
  // Cold. Ends all operations; completions arrive until quiet() is true: then the NIC does not use
  // our memory any more.
  virtual void shut_down() = 0;
  [[nodiscard]] virtual bool quiet() const = 0;
  [[nodiscard]] virtual const EndpointLimits& limits() const = 0;
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::kfilnd

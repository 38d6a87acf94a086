// SPDX-License-Identifier: BSD-3-Clause
// What kfilnd asks of a driver: one reliable-datagram endpoint context per shard, with tagged
// receives that the peer reads from or writes into. Served by drivers/net/cassini, drivers/net/ofi
// and drivers/net/sim; drivers/net/fault stacks on any.
//
// One EndpointDriver serves one shard and is called by it alone; none of its calls calls back
// before it returns. Nothing is ordered: any message may overtake any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/payload.hpp"

namespace plnet::kfilnd {

// A peer's process as the driver knows it, got from resolve(). Together with a receive context (an
// 8-bit number that the peer tells in its HELLO) it names where a message goes.
using PeerAddress = std::uint64_t;
inline constexpr PeerAddress kNoAddress = ~0ULL;

struct Target {
  PeerAddress address = kNoAddress;
  std::uint8_t receive_context = 0;
};

// Initiator's name for one bulk transfer: low 16 bits of the session key, then the transfer's key.
using Tag = std::uint32_t;

enum class FabricEvent : std::uint8_t {
  kSent,            // an untagged message was delivered to the peer's NIC, or failed
  kMessage,         // an untagged message arrived in a multi-receive buffer
  kBufferUnlinked,  // a multi-receive buffer is full: the last event of its cookie
  kTaggedRead,      // the peer has read our tagged buffer: a bulk PUT is done
  kTaggedWritten,   // the peer has written our tagged buffer: a bulk GET is done
  kTaggedMessage,   // the peer has sent 64 bits instead of touching the buffer
  kTaggedFailed,
  kTaggedCancelled,  // from here on no operation of a peer can reach the buffer
  kRemoteDone,       // our read, write or tagged message at the peer is done, or failed
};

struct FabricCompletion {
  FabricEvent event = FabricEvent::kSent;
  Result<void> status;
  std::uint64_t cookie = 0;      // of the call that this answers, or of the multi-receive buffer
  std::uint32_t length = 0;      // kMessage, kTaggedRead, kTaggedWritten: bytes really moved
  std::uint32_t offset = 0;      // kMessage: where in the buffer
  bool buffer_unlinked = false;  // kMessage: it was the last of its buffer
  std::uint64_t data = 0;        // kTaggedMessage: host order
};

class EndpointEvents {
 public:
  virtual ~EndpointEvents() = default;

  // Hot.
  virtual void on_completions(std::span<const FabricCompletion> burst) = 0;
  // Cold. The link came or went, or the NIC's address, and with it our NID, is another now. Until
  // the first call it counts as usable.
  virtual void on_link(bool usable, std::uint64_t nic_address) = 0;
};

struct EndpointLimits {
  std::uint8_t receive_contexts = 1;  // how many this node's process has; ours is one of them
  std::uint8_t receive_context = 0;   // this endpoint's own
  unsigned peer_contexts = 256;       // that a peer's process can have; there is no target beyond
  unsigned fragments_max = 1;         // of one operation; the driver bounces or splits above
  unsigned operations_max = 0;        // in flight
  std::uint32_t message_bytes_max = 4096;
};

// Every call that posts returns kAgain when there is no room now (completions make room; with none
// outstanding, try again next turn) and otherwise ends in exactly one completion with its cookie.
// Payload memory stays put until then.
class EndpointDriver {
 public:
  virtual ~EndpointDriver() = default;

  // Hot. `header` is copied before this returns; `payload` is gathered behind it.
  [[nodiscard]] virtual Result<void> send(const Target& to, std::span<const std::byte> header,
                                          const lnet::Payload& payload, std::uint64_t cookie) = 0;
  // Hot. Lays `buffer` open for one operation by the process of `from`, whichever of its contexts,
  // that names `tag`: a read of a PUT's source or a write into a GET's sink. Ends in kTagged…
  [[nodiscard]] virtual Result<void> post_tagged(const Target& from, Tag tag, bool peer_reads,
                                                 const lnet::Payload& buffer,
                                                 std::uint64_t cookie) = 0;
  // Hot. Asks for kTaggedCancelled. kNotFound: an operation has taken it already; its completion
  // comes.
  [[nodiscard]] virtual Result<void> cancel_tagged(Tag tag) = 0;
  // Hot. As the target of a bulk request: read from, write to, or answer the peer's tagged buffer.
  [[nodiscard]] virtual Result<void> read_tagged(const Target& peer, Tag tag,
                                                 const lnet::Payload& into,
                                                 std::uint64_t cookie) = 0;
  [[nodiscard]] virtual Result<void> write_tagged(const Target& peer, Tag tag,
                                                  const lnet::Payload& from,
                                                  std::uint64_t cookie) = 0;
  [[nodiscard]] virtual Result<void> answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                                   std::uint64_t cookie) = 0;
  // Hot. Messages land one behind the other until less than message_bytes_max is left.
  [[nodiscard]] virtual Result<void> post_multi_receive(const Fragment& buffer,
                                                        std::uint64_t cookie) = 0;

  // Cold. Address of the process `service` (the network number) on the NIC `nic_address`.
  [[nodiscard]] virtual Result<PeerAddress> resolve(std::uint64_t nic_address,
                                                    unsigned service) = 0;
  virtual void forget(PeerAddress address) = 0;
  // Cold. Ends everything; completions arrive until quiet() says that the NIC is done with our
  // memory.
  virtual void shut_down() = 0;
  [[nodiscard]] virtual bool quiet() const = 0;
  [[nodiscard]] virtual const EndpointLimits& limits() const = 0;
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::kfilnd

// SPDX-License-Identifier: BSD-3-Clause
// The drivers of o2iblnd: reliable connected queue pairs and the connection manager. Implemented by
// drivers/net/mlx (libibverbs, librdmacm) and drivers/net/sim; drivers/net/fault stacks on either.
//
// One VerbsDriver serves one shard, and only that shard calls it; no call makes an event before it
// returns. Buffers are named {arena, offset}: the driver knows the keys of each arena.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/map_cache.hpp"
#include "lib/base/result.hpp"

namespace plnet::o2iblnd {

struct QueuePairId {
  std::uint32_t index = ~0U;
  std::uint32_t generation = 0;

  friend bool operator==(const QueuePairId&, const QueuePairId&) = default;
};

inline constexpr std::size_t kGatherMax = 2;  // source pieces of one write, the kernel's wrq_sge

enum class WorkKind : std::uint8_t { kSend, kWrite };

// One element of a chain. A chain is posted whole or not at all; its last element is signalled. The
// first piece of a send lies in message memory, other pieces are payload.
struct WorkRequest {
  WorkKind kind = WorkKind::kSend;
  std::uint8_t piece_count = 0;
  std::array<Fragment, kGatherMax> pieces{};
  std::uint64_t remote_address = 0;  // kWrite
  std::uint32_t remote_key = 0;      // kWrite
  std::uint64_t cookie = 0;  // comes back in the completion of the last element, or of a failed one
};

// A buffer for one incoming message.
struct ReceiveRequest {
  Fragment buffer;
  std::uint64_t cookie = 0;
};

enum class WorkEvent : std::uint8_t { kSent, kReceived };

struct WorkCompletion {
  QueuePairId queue_pair;
  WorkEvent event = WorkEvent::kSent;
  // kAborted: flushed, the queue pair was in error already; kNoSpace: the peer had no receive for
  // it, through all retries; kTimedOut: no acknowledgment came; kInvalid, kNetworkDown: the fault
  // is ours, or our device's.
  Result<void> status;
  std::uint32_t length = 0;  // kReceived
  std::uint64_t cookie = 0;
};

struct Ipv4Endpoint {
  std::uint32_t address = 0;  // host order
  std::uint16_t port = 0;
  friend bool operator==(const Ipv4Endpoint&, const Ipv4Endpoint&) = default;
};

struct QueuePairSize {
  unsigned send_requests = 0;
  unsigned receive_requests = 0;
};

// Retry counts and the like that travel in the connection manager's messages.
struct ConnectParameters {
  std::uint8_t retry_count = 5;
  std::uint8_t rnr_retry_count = 6;
  int type_of_service = -1;
};

// Longest private data of each connection manager message over RDMA_PS_TCP. Data arrives padded to
// these lengths; shorter data is not a sign of anything either.
inline constexpr std::size_t kConnectDataBytesMax = 56;
inline constexpr std::size_t kAcceptDataBytesMax = 196;
inline constexpr std::size_t kRejectDataBytesMax = 148;

// A connect request on its way between two drivers of a device. Only drivers use the handle.
struct HandedRequest {
  void* handle = nullptr;
  Ipv4Endpoint from;
  Ipv4Endpoint to;
  std::uint32_t data_bytes = 0;
  std::array<std::byte, kConnectDataBytesMax> data{};

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data.data(), data_bytes}; }
};

enum class RejectKind : std::uint8_t { kByPeer, kNobodyListens, kStaleConnection, kOther };

inline constexpr std::uint32_t kNoMapping = ~0U;

struct RemoteKey {
  std::uint32_t key = 0;
  std::uint64_t address = 0;           // of the fragment, as the peer must use it
  std::uint32_t mapping = kNoMapping;  // to be released
};

struct DeviceLimits {
  unsigned work_requests_max = 0;
  unsigned gather_max = 0;
  std::uint32_t inline_bytes_max = 0;
};

class VerbsEvents {
 public:
  virtual ~VerbsEvents() = default;

  // Hot. In the order of each queue pair.
  virtual void on_completions(std::span<const WorkCompletion> burst) = 0;

  // Cold. An incoming request: answer with accept() or reject(), now or later.
  virtual void on_connect_request(QueuePairId request, const Ipv4Endpoint& from,
                                  const Ipv4Endpoint& to, std::span<const std::byte> data) = 0;
  // Cold. Both sides: messages may flow. Receives may complete before this: keep them.
  virtual void on_established(QueuePairId queue_pair, std::span<const std::byte> accept_data) = 0;
  // Cold. Our connect() was turned down; on_drained() follows.
  virtual void on_rejected(QueuePairId queue_pair, RejectKind kind,
                           std::span<const std::byte> data) = 0;
  // Cold. Our connect() failed otherwise, or an established connection ended. The cause of a failed
  // one becomes the health of what waited: kNoRoute (address or route not resolved), kTimedOut (no
  // answer), kNetworkDown (unreachable), kClosed (connect error), kReset. All requests that
  // were posted come back (flushed) through on_completions(), then on_drained().
  virtual void on_disconnected(QueuePairId queue_pair, Errc cause) = 0;
  // Cold. The last event of a queue pair: nothing of ours is read or written by the peer any more.
  // Only from here on may memory that it could reach be used for something else.
  virtual void on_drained(QueuePairId queue_pair) = 0;
  virtual void on_device(bool usable, Errc cause) = 0;
};

// A call for a queue pair that has drained does nothing and is counted.
class VerbsDriver {
 public:
  virtual ~VerbsDriver() = default;

  // Hot. Posts the chain or, for lack of room, nothing (false). Completions make room; with none
  // outstanding, try again next turn.
  [[nodiscard]] virtual bool post_chain(QueuePairId queue_pair,
                                        std::span<const WorkRequest> chain) = 0;
  // Hot. Takes a prefix, returns its length.
  virtual std::size_t post_receives(QueuePairId queue_pair,
                                    std::span<const ReceiveRequest> burst) = 0;
  // Hot. Lays a fragment open to remote writes. Of an arena that is registered once this only looks
  // the key up; memory that is mapped on demand is mapped, if it is not, until release(). What
  // keeps a late writer out is to_error() followed by on_drained(). kNoSpace: all mappings are in
  // use, try again when one was released; other errors: the memory cannot be mapped.
  [[nodiscard]] virtual Result<RemoteKey> remote_key(const Fragment& fragment) = 0;
  // Hot. Of a key with a mapping, once: the peer does not need it any more.
  virtual void release(std::uint32_t /*mapping*/) {}
  // Cold. How memory is mapped from now on; a driver for which all memory is registered has nothing
  // to do.
  virtual void set_mapping(const MapRules& /*rules*/) {}
  [[nodiscard]] virtual CounterView mapping_counters() const { return {}; }

  // Cold. Creates a queue pair and starts to connect it: receives may be posted at once, so that
  // they are there before the peer can send. on_established(), on_rejected() or on_disconnected()
  // follows.
  [[nodiscard]] virtual Result<QueuePairId> connect(const Ipv4Endpoint& local,
                                                    const Ipv4Endpoint& remote,
                                                    const QueuePairSize& size,
                                                    const ConnectParameters& parameters,
                                                    std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual Result<void> listen(const Ipv4Endpoint& local) = 0;
  virtual void stop_listening(const Ipv4Endpoint& local) = 0;
  // Cold. prepare() creates the queue pair of a request, so that receives can be posted; accept()
  // then answers. kNoMemory: try a smaller size. A request that cannot be accepted, since its peer
  // has withdrawn it, is to be rejected; on_drained() follows if it was prepared.
  [[nodiscard]] virtual Result<void> prepare(QueuePairId request, const QueuePairSize& size) = 0;
  [[nodiscard]] virtual Result<void> accept(QueuePairId request,
                                            const ConnectParameters& parameters,
                                            std::span<const std::byte> data) = 0;
  virtual void reject(QueuePairId request, std::span<const std::byte> data) = 0;
  // Cold. Removes a reported request that is neither prepared nor answered, for take_over() of
  // another driver of the device on its own shard. Nothing: the request is gone, or the driver
  // does not give requests away.
  [[nodiscard]] virtual std::optional<HandedRequest> give_away(QueuePairId /*request*/) {
    return std::nullopt;
  }
  // Cold. The request is not reported again: the caller answers it like a reported one. An error:
  // the request is gone, or was turned down for lack of room.
  [[nodiscard]] virtual Result<QueuePairId> take_over(const HandedRequest& /*request*/) {
    return std::unexpected(Errc::kNotSupported);
  }
  // Cold, any shard of the device. Rejects a request that no driver is to take over.
  virtual void turn_down(const HandedRequest& /*request*/) {}
  // Cold. Tells the peer, puts the queue pair into error, flushes: on_disconnected(), on_drained().
  virtual void to_error(QueuePairId queue_pair) = 0;
  [[nodiscard]] virtual const DeviceLimits& limits() const = 0;
  [[nodiscard]] virtual CounterView counters() const = 0;
};

}  // namespace plnet::o2iblnd

// SPDX-License-Identifier: BSD-3-Clause
// Accepted connections until their peer is known: a fixed number of strangers, each with a few
// bytes of memory and a time limit for each step. lustre-release lnet/lnet/acceptor.c:
// lnet_acceptor(), lnet_accept(); lnet/klnds/socklnd/ socklnd_cb.c: ksocknal_recv_hello().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/socklnd/complaints.hpp"
#include "lib/socklnd/hello_reader.hpp"
#include "lib/socklnd/listed_addresses.hpp"
#include "lib/socklnd/peer_homes.hpp"
#include "lib/socklnd/request_reader.hpp"
#include "lib/socklnd/stream_switch.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::socklnd {

#define PLNET_ACCEPTOR_COUNTERS(X)                                                                 \
  X(kAccepted, "accepted", "connections", kCount, "connections accepted")                          \
  X(kHandedOver, "handed_over", "connections", kCount, "moved to the home shard of their peer")    \
  X(kRefusedPolicy, "refused_policy", "connections", kCount, "closed: accept=none")                \
  X(kRefusedPort, "refused_port", "connections", kCount,                                           \
    "closed: the source port is not a reserved port")                                              \
  X(kRefusedNoRoom, "refused_no_room", "connections", kCount,                                      \
    "closed: too many connections without a complete HELLO")                                       \
  X(kRefusedShare, "refused_address_share", "connections", kCount,                                 \
    "closed: too many connections without a complete HELLO from this address")                     \
  X(kEvicted, "evicted", "connections", kCount,                                                    \
    "closed before their HELLO was complete, to make room for others")                             \
  X(kRefusedHome, "refused_home_full", "connections", kCount,                                      \
    "closed: the home shard of the peer is full")                                                  \
  X(kRefusedNid, "refused_nid", "connections", kCount,                                             \
    "closed: the requested NID is not of this node")                                               \
  X(kRefusedLegacy, "refused_legacy", "connections", kCount,                                       \
    "closed: the protocol from before LNet")                                                       \
  X(kRefusedMagic, "refused_magic", "connections", kCount, "closed: unknown magic number")         \
  X(kRefusedRequest, "refused_request", "connections", kCount, "answered: unknown request")        \
  X(kRefusedHelloMagic, "refused_hello_magic", "connections", kCount,                              \
    "closed: no HELLO follows the request")                                                        \
  X(kRefusedHelloVersion, "refused_hello_version", "connections", kCount,                          \
    "answered: a HELLO of an unsupported version")                                                 \
  X(kRefusedAddresses, "refused_addresses", "connections", kCount,                                 \
    "closed: a HELLO with an invalid list of addresses")                                           \
  X(kRefusedSource, "refused_source", "connections", kCount, "closed: the source NID is invalid")  \
  X(kRefusedForeign, "refused_foreign_nid", "connections", kCount,                                 \
    "closed: the source address is not that of the NID in the HELLO, nor listed by that NID")      \
  X(kRefusedAccess, "refused_access", "connections", kCount, "closed: an access rule forbids it")  \
  X(kRefusedType, "refused_type", "connections", kCount, "closed: unknown connection type")        \
  X(kRefusedEager, "refused_eager", "connections", kCount,                                         \
    "closed: data arrived before our answer")                                                      \
  X(kRefusedDetach, "refused_detach", "connections", kCount, "closed: the stream cannot be moved") \
  X(kRefusedShutdown, "refused_shutdown", "connections", kCount,                                   \
    "closed: the node is shutting down")                                                           \
  X(kTimedOut, "timed_out", "connections", kCount, "closed: a step took longer than allowed")      \
  X(kWaited, "waited", "connections", kCount,                                                      \
    "HELLO is complete, and the connection waited for its turn")                                   \
  X(kRefusedWait, "refused_waited", "connections", kCount,                                         \
    "closed: the connection waited too long for its turn")                                         \
  X(kLeftSilent, "left_silent", "connections", kCount, "closed by the peer without a byte")        \
  X(kLeftEarly, "left_early", "connections", kCount,                                               \
    "closed by the peer before its HELLO was complete: often the peer uses a wrong NID")           \
  X(kStrangers, "strangers", "connections", kGauge,                                                \
    "connections without a complete HELLO, or waiting for their turn")
PLNET_COUNTERS(AcceptorCounters, PLNET_ACCEPTOR_COUNTERS);

// One address may have one in so many of the places for strangers.
inline constexpr std::size_t kAddressShare = 2;
// A share is at least so many places: small acceptors are for tests.
inline constexpr std::size_t kAddressPlacesLeast = 16;
// Evicted strangers, beyond the places that there are, whose streams have not closed yet: they
// close in a later poll.
inline constexpr std::size_t kEvictedMax = 64;

// A connection whose HELLO is complete may wait for its turn for so long, without being read. The
// kernel waits 50 seconds for our HELLO by default.
inline constexpr Duration kTurnTimeout = std::chrono::seconds(45);
// The interval between two looks at waiting connections, and the number of them in one look.
inline constexpr Duration kTurnInterval = std::chrono::milliseconds(1);
inline constexpr std::size_t kTurnsAtOnce = 64;
static_assert(kAddressShare > 1, "one address leaves places for others");

struct AcceptorConfig {
  AcceptPolicy policy = AcceptPolicy::kSecure;
  Duration step_timeout = std::chrono::seconds(5);  // accept_timeout
  std::size_t strangers_max = kStrangersMax;        // about 600 bytes each
  bool any_address = false;                         // a NID may come from any address (NAT)
  Complaints* complaints = nullptr;                 // null: complaints are not reported
};

class Acceptor final : public StreamUser, public StreamAccepter {
 public:
  Acceptor(const AcceptorConfig& config, StreamSwitch& streams, PeerHomes& homes);

  // Called once a turn, after everything else. Returns pieces of work.
  unsigned flush(Instant now);
  [[nodiscard]] Instant next_deadline();
  [[nodiscard]] bool idle() const { return strangers_.free_count() == strangers_.capacity(); }
  // Refuses all strangers; listening ends elsewhere.
  void shut_down();
  [[nodiscard]] CounterView counters() const { return counters_.view(); }
  [[nodiscard]] std::uint64_t count(AcceptorCounters::Id id) const { return counters_.get(id); }

  void on_accepted(StreamId stream, const StreamAddresses& addresses) override;
  std::span<std::byte> destination(std::uint32_t slot) override;
  std::size_t on_bytes(std::uint32_t slot, std::size_t direct,
                       std::span<const std::byte> staged) override;
  void on_writable(std::uint32_t slot) override;
  void on_connected(std::uint32_t slot, const StreamAddresses& addresses) override;
  void on_closed(std::uint32_t slot, Errc cause, std::uint64_t unacknowledged_bytes) override;

 private:
  using Id = AcceptorCounters::Id;

  struct Stranger : ListNode<> {
    enum class State : std::uint8_t {
      kRequest,
      kHello,
      kIntroduced,
      kQueued,  // introduced, and waits for its turn to become a peer
      kAnswering,
      kClosing,
    };
    StreamId stream;
    StreamAddresses addresses;
    State state = State::kRequest;
    RequestReader request;
    HelloReader hello;
    Arrival arrival;
    LocalInterface local;
    Instant deadline{};
    std::array<std::byte, kHelloV4Bytes> answer{};
    std::uint8_t answer_bytes = 0;
    std::uint8_t answer_sent = 0;
  };
  using State = Stranger::State;

  void on_request(Stranger& stranger);
  void on_hello(Stranger& stranger);
  void introduce(Stranger& stranger);
  void complain(const SocketAddress& address, Id why);
  void refuse(Stranger& stranger, Id why, Errc cause = Errc::kProtocol);
  void leave(Stranger& stranger, Errc cause);
  void answer_request(Stranger& stranger);
  void answer_version(Stranger& stranger);
  void send_answer(Stranger& stranger);
  [[nodiscard]] std::optional<Id> judge_origin(Stranger& stranger);
  // False: the stranger has to wait.
  [[nodiscard]] bool hand_over(Stranger& stranger);
  void queue(Stranger& stranger, Instant now);
  [[nodiscard]] unsigned serve_queue(Instant now);
  void touch(Stranger& stranger);
  void forget(Stranger& stranger);
  [[nodiscard]] std::size_t places_taken() const;
  [[nodiscard]] bool has_share(const SocketAddress& address);
  [[nodiscard]] bool make_room(const SocketAddress& newcomer);
  [[nodiscard]] static bool is_reserved(std::uint16_t port) { return port <= kReservedPortMax; }

  const AcceptorConfig config_;
  StreamSwitch& streams_;
  PeerHomes& homes_;
  Pool<Stranger> strangers_;
  // Strangers whose step began since the last flush; the others, in the order of their deadlines,
  // since each step has the same time limit.
  IntrusiveList<Stranger> fresh_;
  IntrusiveList<Stranger> waiting_;
  IntrusiveList<Stranger> queued_;  // in the order in which they are looked at
  Instant next_turn_ = Instant::max();
  IntrusiveList<Stranger> leaving_;  // their streams are being closed
  std::size_t leaving_count_ = 0;
  ListedAddresses listed_;
  Counters<AcceptorCounters> counters_;
};

}  // namespace plnet::socklnd

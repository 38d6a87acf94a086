// SPDX-License-Identifier: BSD-3-Clause
// One NIC on a wire: splits messages into packets, numbers them, ensures that each is executed once
// and that every command ends. packet_source.cpp has the source half, packet_target.cpp the target
// half, packet_connection.cpp the states of connections. Allocates nothing after the constructor.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/net/cassini/soft/gate.hpp"
#include "drivers/net/cassini/soft/key_table.hpp"
#include "drivers/net/cassini/soft/late.hpp"
#include "drivers/net/cassini/soft/nic.hpp"
#include "drivers/net/cassini/soft/packet.hpp"
#include "drivers/net/cassini/soft/retry_handler.hpp"
#include "drivers/net/cassini/soft/wire.hpp"

namespace plnet::cassini::soft {

inline constexpr unsigned kPacketWindow = 64;  // unanswered packets on one connection

struct PortOptions {
  std::size_t payload_max = 2048;  // less to a receiver that has less room, while that lasts
  RetryOptions retry;
  // A restarted NIC uses another one: connections of its earlier life are not continued. If it is
  // not higher, peers that still know the earlier life ignore the NIC until target_timeout_ns
  // later.
  std::uint32_t incarnation = 0;
  unsigned messages_max = 2048;
  unsigned source_connections = 4096;    // SCT
  unsigned target_connections = 8192;    // TCT
  unsigned message_states = 2048;        // MST
  unsigned remembered_responses = 2048;  // TRS
  std::uint64_t seed = 0;
};

#define PLNET_CASSINI_PORT_COUNTERS(X)                                                         \
  X(kSent, "packets_sent", "packets", kCount, "requests sent for the first time")              \
  X(kResent, "packets_resent", "packets", kCount, "requests repeated")                         \
  X(kReceived, "packets_received", "packets", kCount, "requests that were executed")           \
  X(kDuplicates, "duplicates", "packets", kCount,                                              \
    "executed before: the remembered response was sent")                                       \
  X(kLate, "late_packets", "packets", kCount, "for a connection or request that has ended")    \
  X(kGaps, "gaps", "packets", kCount, "refused because an earlier one was missing")            \
  X(kBad, "bad_packets", "packets", kCount, "of another version, for another NIC, or invalid") \
  X(kWireFull, "wire_full", "packets", kCount, "had to wait for the wire")                     \
  X(kAnswers, "answers", "packets", kCount, "responses sent; one may be for many requests")    \
  X(kTooLong, "too_long", "packets", kCount, "GETs for more data than a packet can carry")     \
  X(kClosed, "connections_closed", "connections", kCount,                                      \
    "idle ones closed with the target's confirmation")                                         \
  X(kForced, "connections_forced", "connections", kCount, "closed without an answer of the target")
PLNET_COUNTERS(PortCounters, PLNET_CASSINI_PORT_COUNTERS);

class PacketPort final : private Transport, private Nic::Carrier, private WireEvents {
 public:
  // Ports of devices of one process share a gate: `gate`, which outlives them.
  PacketPort(Nic& nic, Wire& wire, const PortOptions& options, RetryLog* log = nullptr,
             Gate* gate = nullptr);
  PacketPort(const PacketPort&) = delete;
  PacketPort& operator=(const PacketPort&) = delete;
  ~PacketPort() override;

  // Steps the NIC, the wire and waiting packets. Returns the amount of work; 0 while another thread
  // allocates.
  unsigned step(std::uint64_t now_ns);
  [[nodiscard]] Gate& gate() { return gate_; }
  [[nodiscard]] RetryHandler& retry_handler() { return retry_; }
  [[nodiscard]] CounterView counters() const { return stats_.view(); }
  [[nodiscard]] std::uint64_t count(PortCounters::Id id) const { return stats_.get(id); }
  [[nodiscard]] bool idle() const { return active_.empty(); }
  // The next necessary step if nothing arrives and no queue has new commands; UINT64_MAX: none.
  [[nodiscard]] std::uint64_t next_due() const;
  // Limits the number of unanswered requests: further ones are rejected (NACKs).
  void set_responses_max(unsigned most) { responses_max_ = most; }
  [[nodiscard]] std::size_t connections() const { return used_connections_.size(); }
  [[nodiscard]] std::size_t targets() const { return used_targets_.size(); }

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr unsigned kLanes = 4;  // of restricted messages; lane 0 is the ordered one

  struct Outgoing {  // a message
    Message message;
    Completion completion;
    LocalBuffer local;
    Outcome outcome;
    std::uint32_t sent = 0;      // bytes given to packets
    std::uint32_t waiting = 0;   // packets without a response
    std::uint16_t next = kNone;  // on its connection
    bool all_sent = false;
    bool started = false;
    std::array<std::byte, kImmediateMax> bytes{};  // of an immediate command
  };
  struct Sent {  // SPT: a packet
    std::uint16_t message = kNone;
    std::uint16_t sequence = 0;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::uint64_t sent_ns = 0;
    PacketHistory history;
    std::uint8_t tries = 0;
    bool first = false, eom = false, done = false;
  };
  enum class State : std::uint8_t { kFree, kNormal, kClearPending, kClosePending };
  struct Connection {  // SCT
    State state = State::kFree;
    std::uint8_t close_tries = 0;
    std::uint16_t in_use = 0;  // index in used_
    Message to;                // destination, VNI and traffic class of all its messages
    unsigned lane = 0;
    std::uint32_t epoch = 0;
    std::uint16_t next_sequence = 1;
    std::uint16_t cleared = 0;
    std::uint16_t head = kNone, tail = kNone;  // messages
    unsigned first = 0, count = 0;             // of `window`
    unsigned to_send = 0;  // from the oldest: these are sent, later ones must be sent (again)
    unsigned batch = kPacketWindow;
    std::uint64_t hold_until_ns = 0;
    std::uint64_t idle_since_ns = 0;  // or since the last close request
    bool established = false, active = false, gap_seen = false;
    std::array<Sent, kPacketWindow> window;
    Sent& at(unsigned i) { return window[(first + i) % kPacketWindow]; }
    [[nodiscard]] const Sent& at(unsigned i) const { return window[(first + i) % kPacketWindow]; }
  };
  struct Remembered {            // TRS: a response
    std::uint16_t sequence = 0;  // 0: none
    ReturnCode code = ReturnCode::kOk;
    ListKind list = ListKind::kPriority;
    bool plain = false;  // OK, the whole message, no data: many of these share one response
    std::uint32_t mlength = 0;
    std::uint32_t length = 0;
    std::uint16_t data = kNone;
  };
  // A NIC with connections to this one, and its part of the tables that all share.
  struct Source {
    NicAddress from = 0;
    unsigned connections = 0;
    unsigned partial_messages = 0;
    unsigned remembered = 0;
  };
  struct TargetConnection {  // TCT, with its MST
    std::uint64_t key = 0;
    NicAddress from = 0;
    std::uint16_t source = 0;  // of sources_
    std::uint16_t connection = 0;
    std::uint16_t in_use = 0;  // index in used_targets_
    std::uint32_t epoch = 0;
    std::uint16_t expected = 1;
    std::uint16_t cleared = 0;                 // nothing up to here is remembered
    std::uint16_t owed_from = 0, owed_to = 0;  // responses to send, without the second one
    bool owing = false;
    bool partial = false;
    std::uint64_t seen_ns = 0;
    std::uint32_t message_id = 0;
    std::uint64_t next_offset = 0;  // of the partial message
    Message message;
    Delivery delivery;
    std::array<Remembered, std::size_t{2} * kPacketWindow> remembered{};
  };

  // A closed connection: late repetitions by the wire must not be executed again. Kept only as long
  // as its source may still repeat packets: a restarted NIC, or another one that now has this
  // address, may count its epochs from below.
  struct Former {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t epoch = 0;
    std::uint64_t seen_ns = 0;  // time of its last packet
  };
  static constexpr std::size_t kFormerMax = 1024;  // a power of two; newer ones replace older ones
  [[nodiscard]] Former& former(std::uint64_t key) {
    return former_[(key >> 16U ^ key) & (kFormerMax - 1)];
  }

  // No source takes more of a table than it leaves to all others together.
  static constexpr bool has_share(unsigned taken, std::size_t left) {
    return left > 0 && taken <= left;
  }
  // Payload of one packet to or from that NIC with the present wire and ends.
  [[nodiscard]] std::size_t payload_room(NicAddress peer) const;
  [[nodiscard]] bool carries_all() const override { return true; }
  [[nodiscard]] bool ready(NicAddress from) override;
  void start(NicAddress from, const Message& message, const LocalBuffer& local,
             const Completion& completion) override;
  void cut(Nic& nic, unsigned portal, unsigned buffer_id, ListKind list) override;
  void on_packet(NicAddress from, std::span<const std::byte> bytes) override;
  void on_link(bool up, NicAddress own) override;

  // packet_connection.cpp
  [[nodiscard]] std::uint16_t connection_for(const Message& message);
  void leave_address();
  [[nodiscard]] std::uint64_t due_of(const Connection& connection) const;
  [[nodiscard]] std::uint64_t idle_wait_of(const Connection& connection) const;
  void close_idle();
  void close_further(std::uint16_t number);
  void free_connection(std::uint16_t number);
  [[nodiscard]] bool say(PacketType type, std::uint16_t number);
  void closing(NicAddress from, const Packet& packet);
  void closing_answered(NicAddress from, const Packet& packet);
  [[nodiscard]] std::uint16_t target_for(NicAddress from, const Packet& packet);
  [[nodiscard]] std::uint16_t source_for(NicAddress from);
  void leave_source(std::uint16_t number);
  void free_target(std::uint16_t number);
  void expire_targets(std::uint64_t now_ns);

  // packet_source.cpp
  bool pump(std::uint16_t number);
  bool prepare(Connection& connection, std::size_t room);
  [[nodiscard]] std::uint16_t first_unsent(const Connection& connection) const;
  void shorten(Connection& connection, Sent& sent, std::size_t room);
  bool send(std::uint16_t number, Sent& sent);
  void check_timer(std::uint16_t number);
  void answered(NicAddress from, const Packet& packet, std::span<const std::byte> payload);
  void answered_one(Sent& sent, const Packet& packet, std::span<const std::byte> payload);
  void refused(NicAddress from, const Packet& packet);
  void retry(std::uint16_t number, unsigned at, const RetryHandler::Decision& decision);
  void settle(Connection& connection);
  void give_up(std::uint16_t number, ReturnCode code);
  void renew(Connection& connection);
  void end_message(Connection& connection, std::uint16_t number, const Outcome& outcome);
  // The connection of a response; nullptr: none, or not the sender's.
  [[nodiscard]] Connection* connection_of(NicAddress from, const Packet& answer);
  [[nodiscard]] static Sent* find_sent(Connection& connection, unsigned sequence, unsigned& at);

  // packet_target.cpp
  void request(NicAddress from, const Packet& packet, std::span<const std::byte> payload);
  // True: the message ends with this packet, once `read` has been read.
  [[nodiscard]] bool execute(TargetConnection& target, const Packet& packet,
                             std::span<const std::byte> payload, Remembered& answer,
                             std::span<const std::byte>& read);
  // `read`: the data of a GET, in the memory of the process.
  void move(TargetConnection& target, const Packet& packet, std::span<const std::byte> payload,
            std::span<const std::byte>& read);
  void move_atomic(TargetConnection& target, const Packet& packet,
                   std::span<const std::byte> payload, Remembered& answer);
  void clear(TargetConnection& target, unsigned up_to);
  void abandon(TargetConnection& target);
  void end_partial(TargetConnection& target);
  void owe(std::uint16_t number, std::uint16_t sequence);
  bool pay(TargetConnection& target);
  [[nodiscard]] bool send_answer(const TargetConnection& target, unsigned sequence,
                                 const Remembered& answer, std::span<const std::byte> payload);
  void keep(Remembered& answer, std::span<const std::byte> read);
  void pay_all();
  void nack(NicAddress to, const Packet& request, ReturnCode code, unsigned expected);
  [[nodiscard]] std::byte* slab(std::uint16_t data) {
    return slabs_.get() + std::size_t{data} * payload_max_;
  }

  Nic& nic_;
  Wire& wire_;
  PortOptions options_;
  const std::size_t payload_max_;
  Gate own_gate_;
  Gate& gate_;
  RetryHandler retry_;
  Counters<PortCounters> stats_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t expiry_ns_ = 0;
  Random random_;
  std::uint32_t next_epoch_;

  std::vector<Outgoing> messages_;
  std::vector<std::uint16_t> free_messages_;
  std::vector<Connection> connections_;
  std::vector<std::uint16_t> free_connections_;
  std::vector<std::uint16_t> used_connections_;
  std::size_t close_at_ = 0;  // in used_connections_: the next to check
  KeyTable by_destination_;
  std::vector<std::uint16_t> active_;

  std::vector<TargetConnection> targets_;
  std::vector<std::uint16_t> free_targets_;
  std::vector<std::uint16_t> used_targets_;
  KeyTable by_source_;  // and connection
  std::vector<Source> sources_;
  std::vector<std::uint16_t> free_sources_;
  KeyTable by_nic_;
  std::vector<Former> former_{kFormerMax};
  std::vector<std::uint16_t> owing_;
  unsigned partial_messages_ = 0;
  unsigned remembered_ = 0;
  unsigned responses_max_;
  std::unique_ptr<std::byte[]> slabs_;
  std::vector<std::uint16_t> free_slabs_;
};

}  // namespace plnet::cassini::soft

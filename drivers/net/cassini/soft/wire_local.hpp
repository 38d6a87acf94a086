// SPDX-License-Identifier: BSD-3-Clause
// A wire between processes of one host, without a daemon. A directory is the fabric: the NIC with
// address 0x100 listens there on the socket nic-00100. A NIC that has a packet for another connects
// to its socket and hands over a ring in shared memory (local_ring.hpp), in which it is the only
// writer. Packets then need no system call. The kernel closes the sockets of a process that dies,
// which ends its rings; nothing that it held stays locked.
//
// Several processes may have the same NIC, each a share of it: the second one listens on
// nic-00100.1, and so on. PIDs belong to one of them each (local_pids.hpp), and messages go to the
// share that has the PID.
//
// A ring comes as a sealed memfd: its other owner cannot shrink it, and third processes never see
// it. Packets of an address are taken only from the process that listens on that address's socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <poll.h>

#include "drivers/net/cassini/soft/field.hpp"
#include "drivers/net/cassini/soft/local_handles.hpp"
#include "drivers/net/cassini/soft/local_pids.hpp"
#include "drivers/net/cassini/soft/local_ring.hpp"
#include "drivers/net/cassini/soft/packet.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/result.hpp"

namespace plnet::cassini::soft {

// The greeting of a NIC, one message on a socket with the memfd of its ring.
#define PLNET_SOFT_LOCAL_GREETING_FIELDS(X) \
  X(Magic, "magic", 0, 0, 32)               \
  X(Version, "version", 4, 0, 32)           \
  X(Address, "address", 8, 0, 32)           \
  X(RingBytes, "ring_bytes", 16, 0, 64)
namespace layout {
PLNET_SOFT_LAYOUT(LocalGreeting, 24, PLNET_SOFT_LOCAL_GREETING_FIELDS);
}  // namespace layout

struct WireLocalOptions {
  std::string directory;  // exists
  NicAddress address = 0;
  std::size_t ring_bytes = std::size_t{1} << 20U;  // a power of two; for each NIC that it sends to
  unsigned peers = 256;                            // limit of other NICs, in each direction
  unsigned peers_per_process = 64;  // of them: one process leaves room for the others
};

#define PLNET_CASSINI_LOCAL_WIRE_COUNTERS(X)                                                \
  X(kSent, "sent", "packets", kCount, "written to a ring")                                  \
  X(kReceived, "received", "packets", kCount, "delivered upwards")                          \
  X(kFull, "full", "packets", kCount, "had to wait for room in a ring")                     \
  X(kUnreachable, "unreachable", "packets", kCount, "lost: no NIC listens on that address") \
  X(kConnected, "connected", "connections", kCount, "rings given to other NICs")            \
  X(kAccepted, "accepted", "connections", kCount, "rings taken from other NICs")            \
  X(kRefused, "refused", "connections", kCount,                                             \
    "invalid greetings, another's address, or no room for a further NIC")                   \
  X(kEnded, "ended", "connections", kCount, "the other NIC, or its process, is gone")       \
  X(kBroken, "broken", "connections", kCount, "closed: invalid values in the shared memory")
PLNET_COUNTERS(LocalWireCounters, PLNET_CASSINI_LOCAL_WIRE_COUNTERS);

class WireLocal final : public Wire {
 public:
  static constexpr std::size_t kPacketBytes = kPacketHeaderBytes + kPayloadMax;
  static constexpr std::size_t kRingBytesMin = std::size_t{1} << 15U;
  static constexpr std::size_t kRingBytesMax = std::size_t{1} << 24U;

  // Fails with kBusy while other processes, or other wires of this one, have all shares of the NIC,
  // or a process in another network namespace has one.
  [[nodiscard]] static plnet::Outcome<std::unique_ptr<WireLocal>> open(
      const WireLocalOptions& options);
  ~WireLocal() override;
  WireLocal(const WireLocal&) = delete;
  WireLocal& operator=(const WireLocal&) = delete;

  [[nodiscard]] std::size_t packet_bytes_max() const override { return kPacketBytes; }
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress /*to*/) const override {
    return kPacketBytes;
  }
  [[nodiscard]] bool keeps_all() const override { return true; }
  [[nodiscard]] NicAddress route(NicAddress to, unsigned vni, unsigned pid) override;
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload) override;
  unsigned poll(std::uint64_t now_ns, WireEvents& events) override;
  [[nodiscard]] CounterView counters() const override { return stats_.view(); }
  [[nodiscard]] std::uint64_t count(LocalWireCounters::Id id) const { return stats_.get(id); }
  [[nodiscard]] PidOwners& pids() { return pids_; }
  // The address, with the share that this process has.
  [[nodiscard]] NicAddress own() const { return own_; }

  static constexpr std::size_t kGreetingBytes = layout::LocalGreeting::kBytes;
  [[nodiscard]] static std::array<std::byte, kGreetingBytes> greeting(NicAddress own,
                                                                      std::size_t ring_bytes);

 private:
  // A NIC that this one sends to. It stays in the table after its end, until another needs the
  // place: the time of the next attempt is there.
  struct Outgoing {
    LocalDescriptor socket;  // none: not connected
    LocalMapping memory;
    LocalRingWriter ring;
    std::uint64_t dial_at_ns = 0;
    pid_t process = -1;
    bool busy = false;     // its listener takes no further connection now
    bool is_used = false;  // for packets, not only to prove an address
  };
  struct Incoming {
    LocalDescriptor socket;
    LocalMapping memory;  // none: before its greeting
    LocalRingReader ring;
    NicAddress address = 0;
    pid_t process = -1;
    std::uint64_t until_ns = 0;  // limit of the wait for greeting and proof
    bool is_proven = false;      // the process is that of the address
    bool is_ended = false;       // hung up: `left` bytes at most are still taken
    bool is_done = false;
    std::size_t left = 0;
  };

  explicit WireLocal(const WireLocalOptions& options);
  [[nodiscard]] plnet::Outcome<void> listen();
  [[nodiscard]] plnet::Outcome<void> take_share();
  [[nodiscard]] bool is_of_nic(NicAddress at, int socket) const;
  // Connected, or nullptr.
  [[nodiscard]] Outgoing* outgoing_to(NicAddress to);
  [[nodiscard]] bool make_place();
  void dial(NicAddress to, Outgoing& peer);
  void hang_up(Outgoing& peer, LocalWireCounters::Id why);
  void look();
  void accept_all();
  void check_incoming(Incoming& peer, short events);
  [[nodiscard]] bool take_greeting(Incoming& peer);
  void prove(Incoming& peer);
  [[nodiscard]] unsigned take_in(Incoming& peer, WireEvents& events);

  const WireLocalOptions options_;
  NicAddress own_;
  LocalPids pids_;
  LocalPidReader pids_of_all_;
  LocalDescriptor lock_;
  LocalDescriptor listener_;
  std::string path_;  // of the listener
  std::unordered_map<NicAddress, std::unique_ptr<Outgoing>> outgoing_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::size_t first_ = 0;          // of incoming_: the one whose turn it is
  std::vector<pollfd> looked_at_;  // of look(), here for their memory
  std::vector<Outgoing*> connected_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t look_at_ns_ = 0;
  bool is_link_told_ = false;
  Counters<LocalWireCounters> stats_;
};

}  // namespace plnet::cassini::soft

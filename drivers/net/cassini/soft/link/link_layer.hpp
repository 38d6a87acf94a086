// SPDX-License-Identifier: BSD-3-Clause
// Delivers packets to other NICs over an Ethernet that loses, repeats, reorders and damages frames,
// without configuration: finds the peers' places, opens a session with each, retransmits lost
// packets, and delivers each packet once and in order. doc/cassini-wire.md has the rules.
//
// Sans-IO: frames and time are handed in, outgoing frames are written to memory of the port. One
// thread. Allocates nothing after the constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/link/address_table.hpp"
#include "drivers/net/cassini/soft/link/frame.hpp"
#include "drivers/net/cassini/soft/link/options.hpp"
#include "drivers/net/cassini/soft/link/peer.hpp"
#include "drivers/net/cassini/soft/link/slot_store.hpp"
#include "drivers/net/cassini/soft/link/stats.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/random.hpp"

namespace plnet::cassini::soft::link {

// The way out for frames.
class FramePort {
 public:
  virtual ~FramePort() = default;
  // Memory for one frame; empty when there is no room now.
  [[nodiscard]] virtual std::span<std::byte> begin_frame(std::size_t bytes) = 0;
  // The frame is complete.
  virtual void end_frame() = 0;
};

class LinkLayer {
 public:
  // Starts without a link.
  LinkLayer(const LinkOptions& options, NicAddress own, Mac mac);
  LinkLayer(const LinkLayer&) = delete;
  LinkLayer& operator=(const LinkLayer&) = delete;

  // As Wire::send(). Packets that are too long or cannot reach any peer are accepted, dropped and
  // counted.
  [[nodiscard]] bool send(NicAddress to, std::span<const std::byte> header,
                          std::span<const std::byte> payload);
  // One received frame. May call events.on_packet(), which may call send().
  void receive(std::span<const std::byte> frame, std::uint64_t now_ns, WireEvents& events);
  // Runs due timers and writes a bounded burst of frames. Returns their number.
  unsigned transmit(std::uint64_t now_ns, FramePort& port);

  // While the link is down nothing is sent and no peer is declared dead.
  void set_link(bool up, std::uint64_t now_ns);
  // Changes the address: all sessions end, and the new one is announced.
  void set_address(NicAddress own);
  // Changes the MTU: longer waiting packets are dropped, and all peers are greeted again, which
  // informs them. Bounded by the options' packet_bytes.
  void set_packet_bytes_max(std::size_t bytes);

  [[nodiscard]] NicAddress address() const { return own_; }
  [[nodiscard]] std::size_t packet_bytes_max() const { return packet_bytes_max_; }
  // The limit of both ends; kPacketBytesFloor until the other end has announced its own.
  [[nodiscard]] std::size_t packet_bytes_max_to(NicAddress to) const;
  [[nodiscard]] bool link_up() const { return is_up_; }
  [[nodiscard]] const LinkStats& stats() const { return stats_; }
  // Another NIC that claims our address, if one ever did.
  [[nodiscard]] std::optional<Mac> clashing() const { return clashing_; }
  // For tools and tests; nullptr for an unknown address.
  [[nodiscard]] const Peer* find_peer(NicAddress address) const;

  static constexpr unsigned kFramesPerTurn = 64;

 private:
  // A NIC that has asked for our address.
  struct Asker {
    NicAddress address = 0;
    Mac mac;
  };
  enum class Served : std::uint8_t { kDone, kMore, kPortFull };

  // link_layer.cpp: records of peers
  Peer* peer_of(NicAddress address);
  Peer* find(NicAddress address);
  Peer* new_peer(NicAddress address, std::uint64_t now_ns);
  Peer* new_stranger(NicAddress address, std::uint64_t now_ns);
  [[nodiscard]] bool is_stranger(const Peer& peer) const;
  bool evict_one(std::uint64_t now_ns);
  // Returns the number of our packets dropped with it.
  [[nodiscard]] unsigned release(Peer& peer);
  void give_up(Peer& peer);
  void reopen(Peer& peer, std::uint64_t now_ns);
  void open_session(Peer& peer, std::uint32_t epoch, const SessionOffer& offer,
                    Sequence receive_first, std::uint64_t now_ns);
  std::uint32_t new_epoch();
  void mark_ready(Peer& peer);
  void update_deadline(Peer& peer);
  [[nodiscard]] std::size_t index_of(const Peer& peer) const;

  // link_receive.cpp
  void count_fault(FrameFault fault);
  [[nodiscard]] bool is_for_us(const Frame& frame);
  void on_ask(const Frame& frame);
  void on_hello(const ReceivedFrame& received, std::uint64_t now_ns);
  void on_welcome(const ReceivedFrame& received, std::uint64_t now_ns);
  void on_session_frame(const ReceivedFrame& received, std::uint64_t now_ns, WireEvents& events);
  void consider(Peer& peer, const ReceivedFrame& received);
  bool adopt_candidate(Peer& peer, const Frame& frame, std::uint64_t now_ns);
  void on_mismatch(Peer& peer, const Frame& frame, std::uint64_t now_ns);
  void on_acknowledgement(Peer& peer, const ReceivedFrame& received, std::uint64_t now_ns);
  void on_data(Peer& peer, const ReceivedFrame& received, std::uint64_t now_ns, WireEvents& events);
  void hand_up(Peer& peer, bool is_void, std::span<const std::byte> packet, WireEvents& events);
  void learn_mac(Peer& peer, Mac mac);

  // link_transmit.cpp
  void look_at_clock(std::uint64_t now_ns);
  void forgive_all(std::uint64_t now_ns);
  void tick(std::uint64_t now_ns);
  void on_deadline(Peer& peer, std::uint64_t now_ns);
  bool check_life(Peer& peer, std::uint64_t now_ns);
  Served serve(Peer& peer, std::uint64_t now_ns, FramePort& port);
  Served serve_opening(Peer& peer, std::uint64_t now_ns, FramePort& port);
  Served serve_open(Peer& peer, std::uint64_t now_ns, FramePort& port);
  bool send_announcement(FramePort& port, std::uint64_t now_ns);
  bool send_answer(const Asker& asker, FramePort& port, std::uint64_t now_ns);
  bool send_plain(Peer& peer, FrameType type, std::uint64_t now_ns, FramePort& port);
  bool send_candidate_welcome(Peer& peer, std::uint64_t now_ns, FramePort& port);
  [[nodiscard]] SessionOffer own_offer() const;
  bool send_data(Peer& peer, Sequence sequence, std::uint64_t now_ns, FramePort& port);
  bool send_ack(Peer& peer, std::uint64_t now_ns, FramePort& port);
  bool put(const Frame& frame, std::span<const std::byte> payload, std::uint32_t checksum,
           FramePort& port);
  [[nodiscard]] Frame frame_to(const Peer& peer, FrameType type, std::uint64_t now_ns) const;
  void acknowledged(Peer& peer);

  const LinkOptions options_;
  NicAddress own_;
  const Mac mac_;
  std::size_t packet_bytes_max_;
  bool is_up_ = false;
  bool owes_announcement_ = false;
  std::optional<Mac> clashing_;
  // The latest one; it is answered even without a record.
  std::optional<Asker> asker_;

  Random random_;
  LinkStats stats_;
  SlotStore send_store_;
  SlotStore receive_store_;
  std::unique_ptr<Peer[]> peers_;
  std::vector<std::uint64_t> deadlines_;  // indexed by peer, contiguous: read every tick
  std::vector<std::uint32_t> free_;       // records
  std::size_t used_end_ = 0;              // no record in use from here on
  AddressTable addresses_;
  IntrusiveList<Peer> ready_;
  Peer* current_ = nullptr;  // the peer whose packet is being delivered: must stay
  std::uint64_t now_ns_ = 0;
  std::uint64_t tick_at_ns_ = 0;
};

}  // namespace plnet::cassini::soft::link

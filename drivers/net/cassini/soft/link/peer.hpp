// SPDX-License-Identifier: BSD-3-Clause
// The state of one other NIC. link_layer.hpp describes its use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drivers/net/cassini/soft/link/frame.hpp"
#include "drivers/net/cassini/soft/link/receive_window.hpp"
#include "drivers/net/cassini/soft/link/send_window.hpp"
#include "drivers/net/cassini/soft/link/session_offer.hpp"
#include "lib/base/intrusive_list.hpp"

namespace plnet::cassini::soft::link {

struct Peer : ListNode<> {  // in the list of peers that may have something to send
  enum class State : std::uint8_t {
    kFree,
    kOpening,  // asking for its place, or waiting for the answer to hello
    kOpen,
  };

  State state = State::kFree;
  bool has_mac = false;
  bool owes_welcome = false;
  bool owes_probe = false;
  bool owes_ack_now = false;
  bool has_echo = false;
  bool is_proven = false;   // a frame has proven that the peer hears us in this session
  bool is_doubted = false;  // frames of another session arrived, and none of this one since
  NicAddress address = 0;
  Mac mac;
  std::uint32_t own_epoch = 0;       // of the session, chosen by us
  std::uint32_t peer_epoch = 0;      // chosen by the peer; 0: not known
  std::size_t packet_bytes_max = 0;  // as last announced by the peer

  // A session offered by a greeting while another is proven. It becomes valid when a frame proves
  // that the sender hears us: an old, repeated greeting has no effect.
  struct Candidate {
    std::uint32_t own_epoch = 0;  // 0: none
    std::uint32_t peer_epoch = 0;
    Mac mac;
    SessionOffer offer;
    Sequence receive_first = 0;
    Sequence send_first = 0;  // the value told to the sender
    bool owes_welcome = false;
  };
  Candidate candidate;

  SendWindow send;
  ReceiveWindow receive;

  unsigned acks_owed = 0;  // packets received but not acknowledged
  std::uint32_t echo = 0;  // `sent_at` of the first of these
  std::uint64_t ack_at_ns = kNever;
  std::uint64_t retry_at_ns = 0;  // kOpening: time of the next question or hello
  std::uint64_t retry_ns = 0;     // the wait after that
  std::uint64_t check_at_ns = 0;  // kOpen: time of the next check of life and idleness
  std::uint64_t heard_at_ns = 0;
  std::uint64_t opened_at_ns = 0;
  std::uint64_t used_at_ns = 0;  // the last packet in or out
  std::uint64_t doubted_at_ns = 0;
  std::uint64_t doubt_probed_at_ns = 0;
};

}  // namespace plnet::cassini::soft::link

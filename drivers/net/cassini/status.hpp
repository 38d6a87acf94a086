// SPDX-License-Identifier: BSD-3-Clause
// Status blocks, doorbell values and other small words (layouts checked against
// shs-cassini-headers cassini_user_defs.h, commit 06f69b00).
#pragma once

#include "drivers/net/cassini/layout.hpp"

namespace plnet::cassini {

// clang-format off: a row a field
// Slot 0 of a command queue. With a return code other than OK that command failed, and the queue
// has stopped.
#define PLNET_CASSINI_COMMAND_QUEUE_STATUS(X) \
  X(rd_ptr, 0x00, 0, 16) \
  X(num_write_cmds_rejected, 0x02, 0, 16) \
  X(fail_command, 0x04, 0, 8) \
  X(return_code, 0x06, 0, 6) \
  X(fail_loc_32, 0x07, 5, 1) \
  X(fail_ll, 0x07, 6, 1) \
  X(ll_disabled, 0x07, 7, 1)
PLNET_CASSINI_LAYOUT(CommandQueueStatus, 8, PLNET_CASSINI_COMMAND_QUEUE_STATUS);

// Slot 0 of an event queue. A snapshot is consistent if both copies of the time agree.
#define PLNET_CASSINI_EVENT_QUEUE_STATUS(X) \
  X(timestamp_ns_cpy, 0x00, 0, 30) \
  X(timestamp_sec_cpy, 0x08, 0, 48) \
  X(thld_sts, 0x0e, 0, 1) \
  X(thld_id, 0x0e, 4, 2) \
  X(unackd_dropped_event, 0x0f, 0, 1) \
  X(event_drop_seq_no, 0x0f, 4, 1) \
  X(event_slots_free, 0x10, 0, 26) \
  X(event_slots_rsrvd, 0x14, 0, 26) \
  X(wr_ptr, 0x18, 0, 26) \
  X(using_buffer_b, 0x1c, 0, 1) \
  X(timestamp_ns, 0x34, 0, 30) \
  X(timestamp_sec, 0x38, 0, 48)
PLNET_CASSINI_LAYOUT(EventQueueStatus, 64, PLNET_CASSINI_EVENT_QUEUE_STATUS);

// The value that the reader stores to the software-state doorbell.
#define PLNET_CASSINI_EVENT_QUEUE_ACK(X) \
  X(rd_ptr, 0x00, 0, 26) \
  X(reading_buffer_b, 0x03, 7, 1) \
  X(event_int_disable, 0x04, 0, 1) \
  X(sts_int_disable, 0x04, 1, 1) \
  X(drop_seq, 0x05, 0, 1)
PLNET_CASSINI_LAYOUT(EventQueueAck, 8, PLNET_CASSINI_EVENT_QUEUE_ACK);

#define PLNET_CASSINI_COUNTER_WRITEBACK(X) \
  X(success, 0x00, 0, 48) \
  X(failure, 0x06, 0, 7) \
  X(writeback, 0x07, 7, 1)
PLNET_CASSINI_LAYOUT(CounterWriteback, 8, PLNET_CASSINI_COUNTER_WRITEBACK);

#define PLNET_CASSINI_MULTICAST_ADDRESS(X) \
  X(action, 0x00, 0, 3) \
  X(multicast_id, 0x00, 3, 13) \
  X(reduction_id, 0x02, 2, 3) \
  X(format, 0x02, 7, 9)
PLNET_CASSINI_LAYOUT(MulticastAddress, 4, PLNET_CASSINI_MULTICAST_ADDRESS);

#define PLNET_CASSINI_RENDEZVOUS_MATCH_BITS(X) \
  X(rendezvous_id, 0x00, 0, 8) \
  X(transaction_type, 0x01, 0, 4) \
  X(match_bits, 0x06, 0, 16)
PLNET_CASSINI_LAYOUT(RendezvousMatchBits, 8, PLNET_CASSINI_RENDEZVOUS_MATCH_BITS);

#define PLNET_CASSINI_RENDEZVOUS_USER_PTR(X) \
  X(src_nid, 0x00, 0, 20) \
  X(src_pid, 0x02, 4, 9) \
  X(ptlte_index, 0x03, 5, 11) \
  X(rendezvous_id, 0x05, 0, 8) \
  X(buffer_id, 0x06, 0, 16)
PLNET_CASSINI_LAYOUT(RendezvousUserPtr, 8, PLNET_CASSINI_RENDEZVOUS_USER_PTR);

// clang-format on

}  // namespace plnet::cassini

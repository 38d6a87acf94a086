// SPDX-License-Identifier: BSD-3-Clause
// Events in the device's format (layouts checked against shs-cassini-headers cassini_user_defs.h,
// commit 06f69b00). The return code is in an event's last byte, which is written last.
#pragma once

#include "drivers/net/cassini/layout.hpp"

namespace plnet::cassini {

// clang-format off: a row a field
// SEND, ACK, REPLY.
#define PLNET_CASSINI_INITIATOR_EVENT(X) \
  X(user_ptr, 0x00, 0, 64) \
  X(mlength, 0x08, 0, 32) \
  X(ptl_list, 0x0c, 0, 2) \
  X(rendezvous, 0x0c, 4, 1) \
  X(retry, 0x0c, 5, 1) \
  X(tgt_error, 0x0c, 6, 1) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(return_code, 0x0f, 0, 6)
PLNET_CASSINI_LAYOUT(InitiatorEvent, 16, PLNET_CASSINI_INITIATOR_EVENT);

#define PLNET_CASSINI_INITIATOR_LONG_EVENT(X) \
  X(user_ptr, 0x00, 0, 64) \
  X(mlength, 0x08, 0, 32) \
  X(ptl_list, 0x0c, 0, 2) \
  X(rendezvous, 0x0c, 4, 1) \
  X(retry, 0x0c, 5, 1) \
  X(tgt_error, 0x0c, 6, 1) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(timestamp_ns, 0x10, 0, 30) \
  X(timestamp_sec, 0x18, 0, 48) \
  X(return_code, 0x1f, 0, 6)
PLNET_CASSINI_LAYOUT(InitiatorLongEvent, 32, PLNET_CASSINI_INITIATOR_LONG_EVENT);

// PUT, GET in their short form.
#define PLNET_CASSINI_TARGET_EVENT(X) \
  X(header_data, 0x00, 0, 64) \
  X(initiator, 0x08, 0, 32) \
  X(ptlte_index, 0x0c, 0, 11) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(ptl_list, 0x0f, 0, 2) \
  X(auto_unlinked, 0x0f, 4, 1) \
  X(match_bits, 0x10, 0, 64) \
  X(buffer_id, 0x18, 0, 16) \
  X(vni, 0x1a, 0, 16) \
  X(length, 0x1c, 0, 20) \
  X(return_code, 0x1f, 0, 6)
PLNET_CASSINI_LAYOUT(TargetEvent, 32, PLNET_CASSINI_TARGET_EVENT);

// PUT, GET in their long form, LINK, UNLINK, SEARCH, …
#define PLNET_CASSINI_TARGET_LONG_EVENT(X) \
  X(header_data, 0x00, 0, 64) \
  X(initiator, 0x08, 0, 32) \
  X(ptlte_index, 0x0c, 0, 11) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(ptl_list, 0x0f, 0, 2) \
  X(rendezvous, 0x0f, 2, 1) \
  X(get_issued, 0x0f, 3, 1) \
  X(auto_unlinked, 0x0f, 4, 1) \
  X(match_bits, 0x10, 0, 64) \
  X(buffer_id, 0x18, 0, 16) \
  X(vni, 0x1a, 0, 16) \
  X(timestamp_ns, 0x1c, 0, 30) \
  X(timestamp_sec_low, 0x1f, 6, 2) \
  X(mlength, 0x20, 0, 32) \
  X(rlength, 0x24, 0, 32) \
  X(remote_offset, 0x28, 0, 56) \
  X(start, 0x30, 0, 57) \
  X(lpe_stat_1, 0x38, 0, 16) \
  X(lpe_stat_2, 0x3a, 0, 16) \
  X(atomic_type, 0x3c, 0, 4) \
  X(atomic_op, 0x3c, 4, 4) \
  X(cswap_op, 0x3d, 0, 3) \
  X(rendezvous_id, 0x3e, 0, 8) \
  X(return_code, 0x3f, 0, 6)
PLNET_CASSINI_LAYOUT(TargetLongEvent, 64, PLNET_CASSINI_TARGET_LONG_EVENT);

#define PLNET_CASSINI_STATE_CHANGE_EVENT(X) \
  X(header_data, 0x00, 0, 64) \
  X(ptlte_state, 0x08, 0, 3) \
  X(sc_reason, 0x09, 0, 4) \
  X(sc_nic_auto, 0x0a, 0, 1) \
  X(ptlte_index, 0x0c, 0, 11) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(ptl_list, 0x0f, 0, 2) \
  X(rendezvous, 0x0f, 2, 1) \
  X(get_issued, 0x0f, 3, 1) \
  X(auto_unlinked, 0x0f, 4, 1) \
  X(match_bits, 0x10, 0, 64) \
  X(buffer_id, 0x18, 0, 16) \
  X(vni, 0x1a, 0, 16) \
  X(timestamp_ns, 0x1c, 0, 30) \
  X(timestamp_sec_low, 0x1f, 6, 2) \
  X(mlength, 0x20, 0, 32) \
  X(rlength, 0x24, 0, 32) \
  X(remote_offset, 0x28, 0, 56) \
  X(start, 0x30, 0, 57) \
  X(lpe_stat_1, 0x38, 0, 16) \
  X(lpe_stat_2, 0x3a, 0, 16) \
  X(atomic_type, 0x3c, 0, 4) \
  X(atomic_op, 0x3c, 4, 4) \
  X(cswap_op, 0x3d, 0, 3) \
  X(rendezvous_id, 0x3e, 0, 8) \
  X(return_code, 0x3f, 0, 6)
PLNET_CASSINI_LAYOUT(StateChangeEvent, 64, PLNET_CASSINI_STATE_CHANGE_EVENT);

#define PLNET_CASSINI_COMMAND_FAILURE_EVENT(X) \
  X(cq_id, 0x00, 0, 10) \
  X(is_target, 0x01, 2, 1) \
  X(fail_loc, 0x02, 0, 16) \
  X(fail_command, 0x04, 0, 8) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(return_code, 0x0f, 0, 6)
PLNET_CASSINI_LAYOUT(CommandFailureEvent, 16, PLNET_CASSINI_COMMAND_FAILURE_EVENT);

// conn_idx is an index of the source connections (12 bits) or of the target connections.
#define PLNET_CASSINI_PCT_EVENT(X) \
  X(dfa, 0x00, 0, 32) \
  X(seq_num, 0x04, 0, 12) \
  X(pct_event_type, 0x08, 0, 3) \
  X(spt_idx, 0x0a, 0, 11) \
  X(conn_idx, 0x0c, 0, 16) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(return_code, 0x0f, 0, 6)
PLNET_CASSINI_LAYOUT(PctEvent, 16, PLNET_CASSINI_PCT_EVENT);

#define PLNET_CASSINI_TIMESTAMP_EVENT(X) \
  X(timestamp_ns, 0x00, 0, 30) \
  X(timestamp_sec, 0x08, 0, 48) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(return_code, 0x0f, 0, 6)
PLNET_CASSINI_LAYOUT(TimestampEvent, 16, PLNET_CASSINI_TIMESTAMP_EVENT);

// EQ_SWITCH, NULL, and the common header: the fields that a reader needs to advance.
#define PLNET_CASSINI_PLAIN_EVENT(X) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(return_code, 0x0f, 0, 6)
PLNET_CASSINI_LAYOUT(PlainEvent, 16, PLNET_CASSINI_PLAIN_EVENT);

#define PLNET_CASSINI_TRIGGERED_EVENT(X) \
  X(threshold, 0x00, 0, 48) \
  X(ct_handle, 0x08, 0, 11) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(return_code, 0x0f, 0, 6)
PLNET_CASSINI_LAYOUT(TriggeredEvent, 16, PLNET_CASSINI_TRIGGERED_EVENT);

#define PLNET_CASSINI_TRIGGERED_LONG_EVENT(X) \
  X(threshold, 0x00, 0, 48) \
  X(ct_handle, 0x08, 0, 11) \
  X(size, 0x0e, 0, 2) \
  X(type, 0x0e, 2, 5) \
  X(timestamp_ns, 0x10, 0, 30) \
  X(timestamp_sec, 0x18, 0, 48) \
  X(return_code, 0x1f, 0, 6)
PLNET_CASSINI_LAYOUT(TriggeredLongEvent, 32, PLNET_CASSINI_TRIGGERED_LONG_EVENT);

// clang-format on

}  // namespace plnet::cassini

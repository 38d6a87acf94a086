// SPDX-License-Identifier: BSD-3-Clause
// Commands in the device's format (layouts checked against shs-cassini-headers cassini_user_defs.h,
// commit 06f69b00). Unnamed bits are zero.
#pragma once

#include "drivers/net/cassini/layout.hpp"

namespace plnet::cassini {

// clang-format off: a row a field
// NOMATCH_PUT and NOMATCH_GET: to a portal without matching, always restricted.
#define PLNET_CASSINI_NOMATCH_DMA_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(index_ext, 0x01, 0, 5) \
  X(lac, 0x02, 0, 3) \
  X(event_send_disable, 0x02, 3, 1) \
  X(event_success_disable, 0x02, 4, 1) \
  X(event_ct_send, 0x02, 5, 1) \
  X(event_ct_reply, 0x02, 6, 1) \
  X(event_ct_ack, 0x02, 7, 1) \
  X(event_ct_bytes, 0x03, 0, 1) \
  X(get_with_local_flag, 0x03, 1, 1) \
  X(restricted, 0x03, 2, 1) \
  X(reduction, 0x03, 3, 1) \
  X(flush, 0x03, 4, 1) \
  X(use_offset_for_get, 0x03, 5, 1) \
  X(dfa, 0x04, 0, 32) \
  X(remote_offset, 0x08, 0, 56) \
  X(local_addr, 0x10, 0, 57) \
  X(request_len, 0x18, 0, 32) \
  X(ct, 0x1c, 0, 11) \
  X(eq, 0x1e, 0, 11)
PLNET_CASSINI_LAYOUT(NomatchDmaCommand, 32, PLNET_CASSINI_NOMATCH_DMA_COMMAND);

// PUT, GET (and RENDEZVOUS_PUT) to a matching portal.
#define PLNET_CASSINI_DMA_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(index_ext, 0x01, 0, 5) \
  X(lac, 0x02, 0, 3) \
  X(event_send_disable, 0x02, 3, 1) \
  X(event_success_disable, 0x02, 4, 1) \
  X(event_ct_send, 0x02, 5, 1) \
  X(event_ct_reply, 0x02, 6, 1) \
  X(event_ct_ack, 0x02, 7, 1) \
  X(event_ct_bytes, 0x03, 0, 1) \
  X(get_with_local_flag, 0x03, 1, 1) \
  X(restricted, 0x03, 2, 1) \
  X(reduction, 0x03, 3, 1) \
  X(flush, 0x03, 4, 1) \
  X(use_offset_for_get, 0x03, 5, 1) \
  X(dfa, 0x04, 0, 32) \
  X(remote_offset, 0x08, 0, 56) \
  X(local_addr, 0x10, 0, 57) \
  X(request_len, 0x18, 0, 32) \
  X(ct, 0x1c, 0, 11) \
  X(eq, 0x1e, 0, 11) \
  X(eager_length, 0x20, 0, 20) \
  X(rendezvous_id, 0x23, 0, 8) \
  X(initiator, 0x24, 0, 32) \
  X(match_bits, 0x28, 0, 64) \
  X(header_data, 0x30, 0, 64) \
  X(user_ptr, 0x38, 0, 64)
PLNET_CASSINI_LAYOUT(DmaCommand, 64, PLNET_CASSINI_DMA_COMMAND);

// ATOMIC and FETCHING_ATOMIC by DMA; a 128-byte command.
#define PLNET_CASSINI_DMA_AMO_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(index_ext, 0x01, 0, 5) \
  X(lac, 0x02, 0, 3) \
  X(event_send_disable, 0x02, 3, 1) \
  X(event_success_disable, 0x02, 4, 1) \
  X(event_ct_send, 0x02, 5, 1) \
  X(event_ct_reply, 0x02, 6, 1) \
  X(event_ct_ack, 0x02, 7, 1) \
  X(event_ct_bytes, 0x03, 0, 1) \
  X(get_with_local_flag, 0x03, 1, 1) \
  X(restricted, 0x03, 2, 1) \
  X(reduction, 0x03, 3, 1) \
  X(flush, 0x03, 4, 1) \
  X(use_offset_for_get, 0x03, 5, 1) \
  X(dfa, 0x04, 0, 32) \
  X(remote_offset, 0x08, 0, 56) \
  X(local_read_addr, 0x10, 0, 57) \
  X(request_len, 0x18, 0, 32) \
  X(ct, 0x1c, 0, 11) \
  X(eq, 0x1e, 0, 11) \
  X(initiator, 0x24, 0, 32) \
  X(match_bits, 0x28, 0, 64) \
  X(header_data, 0x30, 0, 64) \
  X(user_ptr, 0x38, 0, 64) \
  X(local_write_addr, 0x40, 0, 57) \
  X(atomic_op, 0x48, 0, 4) \
  X(atomic_type, 0x49, 0, 4) \
  X(cswap_op, 0x4a, 0, 3) \
  X(write_lac, 0x4c, 0, 3) \
  X(op2_word1, 0x50, 0, 64) \
  X(op2_word2, 0x58, 0, 64)
PLNET_CASSINI_LAYOUT(DmaAmoCommand, 96, PLNET_CASSINI_DMA_AMO_COMMAND);

// The state shared by the IDC commands that follow it.
#define PLNET_CASSINI_C_STATE_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(length, 0x01, 0, 8) \
  X(write_lac, 0x02, 0, 3) \
  X(event_send_disable, 0x02, 3, 1) \
  X(event_success_disable, 0x02, 4, 1) \
  X(event_ct_send, 0x02, 5, 1) \
  X(event_ct_reply, 0x02, 6, 1) \
  X(event_ct_ack, 0x02, 7, 1) \
  X(event_ct_bytes, 0x03, 0, 1) \
  X(get_with_local_flag, 0x03, 1, 1) \
  X(restricted, 0x03, 2, 1) \
  X(reduction, 0x03, 3, 1) \
  X(flush, 0x03, 4, 1) \
  X(use_offset_for_get, 0x03, 5, 1) \
  X(initiator, 0x04, 0, 32) \
  X(index_ext, 0x08, 0, 5) \
  X(user_ptr, 0x10, 0, 64) \
  X(ct, 0x1c, 0, 11) \
  X(eq, 0x1e, 0, 11)
PLNET_CASSINI_LAYOUT(CStateCommand, 32, PLNET_CASSINI_C_STATE_COMMAND);

// Data follows, at most 224 bytes. Restricted.
#define PLNET_CASSINI_IDC_PUT_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(length, 0x01, 0, 8) \
  X(dfa, 0x04, 0, 32) \
  X(remote_offset, 0x08, 0, 56)
PLNET_CASSINI_LAYOUT(IdcPutCommand, 16, PLNET_CASSINI_IDC_PUT_COMMAND);

// SMALL_MESSAGE: data follows, at most 192 bytes.
#define PLNET_CASSINI_IDC_MESSAGE_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(length, 0x01, 0, 8) \
  X(dfa, 0x04, 0, 32) \
  X(match_bits, 0x08, 0, 64) \
  X(header_data, 0x10, 0, 64) \
  X(user_ptr, 0x18, 0, 64)
PLNET_CASSINI_LAYOUT(IdcMessageCommand, 32, PLNET_CASSINI_IDC_MESSAGE_COMMAND);

#define PLNET_CASSINI_IDC_AMO_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(length, 0x01, 0, 8) \
  X(dfa, 0x04, 0, 32) \
  X(remote_offset, 0x08, 0, 56) \
  X(local_addr, 0x10, 0, 57) \
  X(atomic_op, 0x18, 0, 4) \
  X(atomic_type, 0x19, 0, 4) \
  X(cswap_op, 0x1a, 0, 3) \
  X(op1_word1, 0x20, 0, 64) \
  X(op1_word2, 0x28, 0, 64) \
  X(op2_word1, 0x30, 0, 64) \
  X(op2_word2, 0x38, 0, 64)
PLNET_CASSINI_LAYOUT(IdcAmoCommand, 64, PLNET_CASSINI_IDC_AMO_COMMAND);

// Without a result, and an operand of at most 8 bytes.
#define PLNET_CASSINI_IDC_AMO_SHORT_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(length, 0x01, 0, 8) \
  X(dfa, 0x04, 0, 32) \
  X(remote_offset, 0x08, 0, 56) \
  X(atomic_op, 0x10, 0, 4) \
  X(atomic_type, 0x11, 0, 4) \
  X(op1_word1, 0x18, 0, 64)
PLNET_CASSINI_LAYOUT(IdcAmoShortCommand, 32, PLNET_CASSINI_IDC_AMO_SHORT_COMMAND);

// A 64-byte command. TRIG_DMA is followed by its DMA command in a command of 128 bytes.
#define PLNET_CASSINI_COUNTER_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(ct, 0x02, 0, 11) \
  X(trig_ct, 0x04, 0, 11) \
  X(eq, 0x06, 0, 11) \
  X(ct_success, 0x08, 0, 48) \
  X(ct_failure, 0x0e, 0, 7) \
  X(set_ct_success, 0x0f, 6, 1) \
  X(set_ct_failure, 0x0f, 7, 1) \
  X(threshold, 0x10, 0, 48)
PLNET_CASSINI_LAYOUT(CounterCommand, 24, PLNET_CASSINI_COUNTER_COMMAND);

// NOOP, FENCE, LCID on a transmit queue.
#define PLNET_CASSINI_QUEUE_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(lcid, 0x04, 0, 4)
PLNET_CASSINI_LAYOUT(QueueCommand, 64, PLNET_CASSINI_QUEUE_COMMAND);

// APPEND, SEARCH, SEARCH_AND_DELETE, UNLINK.
#define PLNET_CASSINI_TARGET_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(ptl_list, 0x01, 0, 2) \
  X(ptlte_index, 0x02, 0, 11) \
  X(event_ct_bytes, 0x04, 0, 1) \
  X(event_ct_overflow, 0x04, 1, 1) \
  X(event_ct_comm, 0x04, 2, 1) \
  X(event_unlink_disable, 0x04, 3, 1) \
  X(event_success_disable, 0x04, 4, 1) \
  X(event_comm_disable, 0x04, 5, 1) \
  X(event_link_disable, 0x04, 6, 1) \
  X(unrestricted_end_ro, 0x04, 7, 1) \
  X(unrestricted_body_ro, 0x05, 0, 1) \
  X(unexpected_hdr_disable, 0x05, 1, 1) \
  X(use_once, 0x05, 2, 1) \
  X(no_truncate, 0x05, 3, 1) \
  X(manage_local, 0x05, 4, 1) \
  X(op_get, 0x05, 5, 1) \
  X(op_put, 0x05, 6, 1) \
  X(ct, 0x06, 0, 11) \
  X(buffer_id, 0x08, 0, 16) \
  X(lac, 0x0a, 0, 3) \
  X(restart_seq, 0x0b, 0, 1) \
  X(start, 0x10, 0, 57) \
  X(length, 0x18, 0, 56) \
  X(min_free, 0x20, 0, 24) \
  X(match_id, 0x24, 0, 32) \
  X(match_bits, 0x28, 0, 64) \
  X(ignore_bits, 0x30, 0, 64)
PLNET_CASSINI_LAYOUT(TargetCommand, 64, PLNET_CASSINI_TARGET_COMMAND);

#define PLNET_CASSINI_SET_STATE_COMMAND(X) \
  X(command, 0x00, 0, 8) \
  X(ptlte_state, 0x01, 0, 3) \
  X(ptlte_index, 0x02, 0, 11) \
  X(current_addr, 0x08, 0, 57) \
  X(drop_count, 0x10, 0, 24)
PLNET_CASSINI_LAYOUT(SetStateCommand, 64, PLNET_CASSINI_SET_STATE_COMMAND);

// clang-format on

}  // namespace plnet::cassini

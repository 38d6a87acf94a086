// SPDX-License-Identifier: BSD-3-Clause
// Commands of queues, and the status block that the model writes. Checked against
// shs-cassini-headers: cxi_prov_hw.h, cassini_user_defs.h.
#pragma once

#include "drivers/net/cassini/soft/field.hpp"

namespace plnet::cassini::soft {

#define PLNET_SOFT_COMMAND(X)             \
  X(CmdType, "command.cmd_type", 0, 0, 2) \
  X(CmdSize, "command.cmd_size", 0, 2, 2) \
  X(Opcode, "command.opcode", 0, 4, 4)
#define PLNET_SOFT_DFA(X)                              \
  X(EndpointDefined, "dfa.endpoint_defined", 4, 0, 12) \
  X(Nid, "dfa.nid", 5, 4, 20)
#define PLNET_SOFT_FLAGS(X)                                \
  X(EventSendDisable, "event_send_disable", 2, 3, 1)       \
  X(EventSuccessDisable, "event_success_disable", 2, 4, 1) \
  X(EventCtSend, "event_ct_send", 2, 5, 1)                 \
  X(EventCtReply, "event_ct_reply", 2, 6, 1)               \
  X(EventCtAck, "event_ct_ack", 2, 7, 1)                   \
  X(EventCtBytes, "event_ct_bytes", 3, 0, 1)               \
  X(GetWithLocalFlag, "get_with_local_flag", 3, 1, 1)      \
  X(Restricted, "restricted", 3, 2, 1)                     \
  X(Reduction, "reduction", 3, 3, 1)                       \
  X(Flush, "flush", 3, 4, 1)                               \
  X(UseOffsetForGet, "use_offset_for_get", 3, 5, 1)

#define PLNET_SOFT_NOMATCH_DMA_FIELDS(X)     \
  PLNET_SOFT_COMMAND(X)                      \
  X(IndexExt, "index_ext", 1, 0, 5)          \
  X(Lac, "lac", 2, 0, 3)                     \
  PLNET_SOFT_FLAGS(X)                        \
  PLNET_SOFT_DFA(X)                          \
  X(RemoteOffset, "remote_offset", 8, 0, 56) \
  X(LocalAddr, "local_addr", 16, 0, 57)      \
  X(RequestLen, "request_len", 24, 0, 32)    \
  X(Ct, "ct", 28, 0, 11)                     \
  X(Eq, "eq", 30, 0, 11)
#define PLNET_SOFT_FULL_DMA_FIELDS(X)        \
  PLNET_SOFT_NOMATCH_DMA_FIELDS(X)           \
  X(EagerLength, "eager_length", 32, 0, 20)  \
  X(RendezvousId, "rendezvous_id", 35, 0, 8) \
  X(Initiator, "initiator", 36, 0, 32)       \
  X(MatchBits, "match_bits", 40, 0, 64)      \
  X(HeaderData, "header_data", 48, 0, 64)    \
  X(UserPtr, "user_ptr", 56, 0, 64)
#define PLNET_SOFT_ATOMIC_CODES(X, byte)         \
  X(AtomicOp, "atomic_op", byte, 0, 4)           \
  X(AtomicKind, "atomic_type", (byte) + 1, 0, 4) \
  X(CompareOp, "cswap_op", (byte) + 2, 0, 3)
#define PLNET_SOFT_DMA_ATOMIC_FIELDS(X)       \
  PLNET_SOFT_COMMAND(X)                       \
  X(IndexExt, "index_ext", 1, 0, 5)           \
  X(Lac, "lac", 2, 0, 3)                      \
  PLNET_SOFT_FLAGS(X)                         \
  PLNET_SOFT_DFA(X)                           \
  X(RemoteOffset, "remote_offset", 8, 0, 56)  \
  X(ReadAddr, "local_read_addr", 16, 0, 57)   \
  X(RequestLen, "request_len", 24, 0, 32)     \
  X(Ct, "ct", 28, 0, 11)                      \
  X(Eq, "eq", 30, 0, 11)                      \
  X(Initiator, "initiator", 36, 0, 32)        \
  X(MatchBits, "match_bits", 40, 0, 64)       \
  X(HeaderData, "header_data", 48, 0, 64)     \
  X(UserPtr, "user_ptr", 56, 0, 64)           \
  X(WriteAddr, "local_write_addr", 64, 0, 57) \
  PLNET_SOFT_ATOMIC_CODES(X, 72)              \
  X(WriteLac, "write_lac", 76, 0, 3)          \
  X(SecondLow, "op2_word1", 80, 0, 64)        \
  X(SecondHigh, "op2_word2", 88, 0, 64)
#define PLNET_SOFT_IDC_HEADER(X) \
  PLNET_SOFT_COMMAND(X)          \
  X(Length, "length", 1, 0, 8)   \
  PLNET_SOFT_DFA(X)              \
  X(RemoteOffset, "remote_offset", 8, 0, 56)
#define PLNET_SOFT_IDC_ATOMIC_FIELDS(X) \
  PLNET_SOFT_IDC_HEADER(X)              \
  X(LocalAddr, "local_addr", 16, 0, 57) \
  PLNET_SOFT_ATOMIC_CODES(X, 24)        \
  X(FirstLow, "op1_word1", 32, 0, 64)   \
  X(FirstHigh, "op1_word2", 40, 0, 64)  \
  X(SecondLow, "op2_word1", 48, 0, 64)  \
  X(SecondHigh, "op2_word2", 56, 0, 64)
// The payload of an immediate command of 32 bytes.
#define PLNET_SOFT_SMALL_ATOMIC_FIELDS(X) \
  PLNET_SOFT_IDC_HEADER(X)                \
  X(AtomicOp, "amo_op", 16, 0, 4)         \
  X(AtomicKind, "amo_type", 17, 0, 4)     \
  X(FirstLow, "op1_word1", 24, 0, 64)
#define PLNET_SOFT_CSTATE_FIELDS(X)   \
  PLNET_SOFT_COMMAND(X)               \
  X(Length, "length", 1, 0, 8)        \
  X(WriteLac, "write_lac", 2, 0, 3)   \
  PLNET_SOFT_FLAGS(X)                 \
  X(Initiator, "initiator", 4, 0, 32) \
  X(IndexExt, "index_ext", 8, 0, 5)   \
  X(UserPtr, "user_ptr", 16, 0, 64)   \
  X(Ct, "ct", 28, 0, 11)              \
  X(Eq, "eq", 30, 0, 11)
#define PLNET_SOFT_IDC_PUT_FIELDS(X) PLNET_SOFT_IDC_HEADER(X)
#define PLNET_SOFT_IDC_MESSAGE_FIELDS(X)  \
  PLNET_SOFT_COMMAND(X)                   \
  X(Length, "length", 1, 0, 8)            \
  PLNET_SOFT_DFA(X)                       \
  X(MatchBits, "match_bits", 8, 0, 64)    \
  X(HeaderData, "header_data", 16, 0, 64) \
  X(UserPtr, "user_ptr", 24, 0, 64)
#define PLNET_SOFT_CT_FIELDS(X)               \
  PLNET_SOFT_COMMAND(X)                       \
  X(Ct, "ct", 2, 0, 11)                       \
  X(TrigCt, "trig_ct", 4, 0, 11)              \
  X(Eq, "eq", 6, 0, 11)                       \
  X(CtSuccess, "ct_success", 8, 0, 48)        \
  X(CtFailure, "ct_failure", 14, 0, 7)        \
  X(SetCtSuccess, "set_ct_success", 15, 6, 1) \
  X(SetCtFailure, "set_ct_failure", 15, 7, 1) \
  X(Threshold, "threshold", 16, 0, 48)
#define PLNET_SOFT_CQ_FIELDS(X) \
  PLNET_SOFT_COMMAND(X)         \
  X(Lcid, "lcid", 4, 0, 4)
#define PLNET_SOFT_TARGET_FIELDS(X)                          \
  PLNET_SOFT_COMMAND(X)                                      \
  X(PtlList, "ptl_list", 1, 0, 2)                            \
  X(PtlteIndex, "ptlte_index", 2, 0, 11)                     \
  X(EventCtBytes, "event_ct_bytes", 4, 0, 1)                 \
  X(EventCtOverflow, "event_ct_overflow", 4, 1, 1)           \
  X(EventCtComm, "event_ct_comm", 4, 2, 1)                   \
  X(EventUnlinkDisable, "event_unlink_disable", 4, 3, 1)     \
  X(EventSuccessDisable, "event_success_disable", 4, 4, 1)   \
  X(EventCommDisable, "event_comm_disable", 4, 5, 1)         \
  X(EventLinkDisable, "event_link_disable", 4, 6, 1)         \
  X(UnrestrictedEndRo, "unrestricted_end_ro", 4, 7, 1)       \
  X(UnrestrictedBodyRo, "unrestricted_body_ro", 5, 0, 1)     \
  X(UnexpectedHdrDisable, "unexpected_hdr_disable", 5, 1, 1) \
  X(UseOnce, "use_once", 5, 2, 1)                            \
  X(NoTruncate, "no_truncate", 5, 3, 1)                      \
  X(ManageLocal, "manage_local", 5, 4, 1)                    \
  X(OpGet, "op_get", 5, 5, 1)                                \
  X(OpPut, "op_put", 5, 6, 1)                                \
  X(Ct, "ct", 6, 0, 11)                                      \
  X(BufferId, "buffer_id", 8, 0, 16)                         \
  X(Lac, "lac", 10, 0, 3)                                    \
  X(RestartSeq, "restart_seq", 11, 0, 1)                     \
  X(Start, "start", 16, 0, 57)                               \
  X(Length, "length", 24, 0, 56)                             \
  X(MinFree, "min_free", 32, 0, 24)                          \
  X(MatchId, "match_id", 36, 0, 32)                          \
  X(MatchBits, "match_bits", 40, 0, 64)                      \
  X(IgnoreBits, "ignore_bits", 48, 0, 64)
#define PLNET_SOFT_SET_STATE_FIELDS(X)     \
  PLNET_SOFT_COMMAND(X)                    \
  X(PtlteState, "ptlte_state", 1, 0, 3)    \
  X(PtlteIndex, "ptlte_index", 2, 0, 11)   \
  X(CurrentAddr, "current_addr", 8, 0, 57) \
  X(DropCount, "drop_count", 16, 0, 24)
#define PLNET_SOFT_CQ_STATUS_FIELDS(X)             \
  X(RdPtr, "rd_ptr", 0, 0, 16)                     \
  X(Rejected, "num_write_cmds_rejected", 2, 0, 16) \
  X(FailType, "fail_command.cmd_type", 4, 0, 2)    \
  X(FailSize, "fail_command.cmd_size", 4, 2, 2)    \
  X(FailOpcode, "fail_command.opcode", 4, 4, 4)    \
  X(ReturnCodeField, "return_code", 6, 0, 6)       \
  X(FailLoc32, "fail_loc_32", 7, 5, 1)             \
  X(FailLl, "fail_ll", 7, 6, 1)                    \
  X(LlDisabled, "ll_disabled", 7, 7, 1)
#define PLNET_SOFT_CT_WRITEBACK_FIELDS(X) \
  X(Success, "success", 0, 0, 48)         \
  X(Failure, "failure", 6, 0, 7)          \
  X(Writeback, "writeback", 7, 7, 1)

namespace layout {

PLNET_SOFT_LAYOUT(Command, 8, PLNET_SOFT_COMMAND);
PLNET_SOFT_LAYOUT(FullDma, 64, PLNET_SOFT_FULL_DMA_FIELDS);
PLNET_SOFT_LAYOUT(NomatchDma, 32, PLNET_SOFT_NOMATCH_DMA_FIELDS);
PLNET_SOFT_LAYOUT(DmaAtomic, 128, PLNET_SOFT_DMA_ATOMIC_FIELDS);
PLNET_SOFT_LAYOUT(IdcAtomic, 64, PLNET_SOFT_IDC_ATOMIC_FIELDS);
PLNET_SOFT_LAYOUT(SmallAtomic, 32, PLNET_SOFT_SMALL_ATOMIC_FIELDS);
PLNET_SOFT_LAYOUT(Cstate, 32, PLNET_SOFT_CSTATE_FIELDS);
PLNET_SOFT_LAYOUT(IdcPut, 16, PLNET_SOFT_IDC_PUT_FIELDS);
PLNET_SOFT_LAYOUT(IdcMessage, 32, PLNET_SOFT_IDC_MESSAGE_FIELDS);
PLNET_SOFT_LAYOUT(Counting, 24, PLNET_SOFT_CT_FIELDS);
PLNET_SOFT_LAYOUT(Cq, 64, PLNET_SOFT_CQ_FIELDS);
PLNET_SOFT_LAYOUT(Target, 64, PLNET_SOFT_TARGET_FIELDS);
PLNET_SOFT_LAYOUT(SetState, 64, PLNET_SOFT_SET_STATE_FIELDS);
PLNET_SOFT_LAYOUT(CqStatus, 8, PLNET_SOFT_CQ_STATUS_FIELDS);
PLNET_SOFT_LAYOUT(CtWriteback, 8, PLNET_SOFT_CT_WRITEBACK_FIELDS);

}  // namespace layout
}  // namespace plnet::cassini::soft

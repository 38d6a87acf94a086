// SPDX-License-Identifier: BSD-3-Clause
// Events that the model writes into event queues. Checked against shs-cassini-headers:
// cassini_user_defs.h, cxi_prov_hw.h.
#pragma once

#include "drivers/net/cassini/soft/field.hpp"

namespace plnet::cassini::soft {

#define PLNET_SOFT_EVENT(X, last)      \
  X(EventSize, "event_size", 14, 0, 2) \
  X(EventKind, "event_type", 14, 2, 5) \
  X(Code, "return_code", last, 0, 6)

#define PLNET_SOFT_INITIATOR(X)         \
  X(UserPtr, "user_ptr", 0, 0, 64)      \
  X(MLength, "mlength", 8, 0, 32)       \
  X(PtlList, "ptl_list", 12, 0, 2)      \
  X(Rendezvous, "rendezvous", 12, 4, 1) \
  X(Retry, "retry", 12, 5, 1)           \
  X(TgtError, "tgt_error", 12, 6, 1)
#define PLNET_SOFT_INITIATOR_SHORT_FIELDS(X) \
  PLNET_SOFT_INITIATOR(X)                    \
  PLNET_SOFT_EVENT(X, 15)
#define PLNET_SOFT_INITIATOR_LONG_FIELDS(X)   \
  PLNET_SOFT_INITIATOR(X)                     \
  X(TimestampNs, "timestamp_ns", 16, 0, 30)   \
  X(TimestampSec, "timestamp_sec", 24, 0, 48) \
  PLNET_SOFT_EVENT(X, 31)

#define PLNET_SOFT_TARGET_SHORT_FIELDS(X)    \
  X(HeaderData, "header_data", 0, 0, 64)     \
  X(Initiator, "initiator", 8, 0, 32)        \
  X(PtlteIndex, "ptlte_index", 12, 0, 11)    \
  X(PtlList, "ptl_list", 15, 0, 2)           \
  X(AutoUnlinked, "auto_unlinked", 15, 4, 1) \
  X(MatchBits, "match_bits", 16, 0, 64)      \
  X(BufferId, "buffer_id", 24, 0, 16)        \
  X(Vni, "vni", 26, 0, 16)                   \
  X(Length, "length", 28, 0, 20)             \
  PLNET_SOFT_EVENT(X, 31)
#define PLNET_SOFT_TARGET_TAIL(X)                   \
  X(PtlteIndex, "ptlte_index", 12, 0, 11)           \
  X(PtlList, "ptl_list", 15, 0, 2)                  \
  X(Rendezvous, "rendezvous", 15, 2, 1)             \
  X(GetIssued, "get_issued", 15, 3, 1)              \
  X(AutoUnlinked, "auto_unlinked", 15, 4, 1)        \
  X(MatchBits, "match_bits", 16, 0, 64)             \
  X(BufferId, "buffer_id", 24, 0, 16)               \
  X(Vni, "vni", 26, 0, 16)                          \
  X(TimestampNs, "timestamp_ns", 28, 0, 30)         \
  X(TimestampSecLow, "timestamp_sec_low", 31, 6, 2) \
  X(MLength, "mlength", 32, 0, 32)                  \
  X(RLength, "rlength", 36, 0, 32)                  \
  X(RemoteOffset, "remote_offset", 40, 0, 56)       \
  X(Start, "start", 48, 0, 57)                      \
  X(LpeStat1, "lpe_stat_1", 56, 0, 16)              \
  X(LpeStat2, "lpe_stat_2", 58, 0, 16)              \
  X(AtomicType, "atomic_type", 60, 0, 4)            \
  X(AtomicOp, "atomic_op", 60, 4, 4)                \
  X(CswapOp, "cswap_op", 61, 0, 3)                  \
  X(RendezvousId, "rendezvous_id", 62, 0, 8)        \
  PLNET_SOFT_EVENT(X, 63)
#define PLNET_SOFT_TARGET_LONG_FIELDS(X) \
  X(HeaderData, "header_data", 0, 0, 64) \
  X(Initiator, "initiator", 8, 0, 32)    \
  PLNET_SOFT_TARGET_TAIL(X)
#define PLNET_SOFT_STATE_CHANGE_FIELDS(X) \
  X(HeaderData, "header_data", 0, 0, 64)  \
  X(PtlteState, "ptlte_state", 8, 0, 3)   \
  X(Reason, "sc_reason", 9, 0, 4)         \
  X(NicAuto, "sc_nic_auto", 10, 0, 1)     \
  PLNET_SOFT_TARGET_TAIL(X)

#define PLNET_SOFT_COMMAND_FAILURE_FIELDS(X)    \
  X(CqId, "cq_id", 0, 0, 10)                    \
  X(IsTarget, "is_target", 1, 2, 1)             \
  X(FailLoc, "fail_loc", 2, 0, 16)              \
  X(FailType, "fail_command.cmd_type", 4, 0, 2) \
  X(FailSize, "fail_command.cmd_size", 4, 2, 2) \
  X(FailOpcode, "fail_command.opcode", 4, 4, 4) \
  PLNET_SOFT_EVENT(X, 15)
#define PLNET_SOFT_PCT(X)                              \
  X(EndpointDefined, "dfa.endpoint_defined", 0, 0, 12) \
  X(Nid, "dfa.nid", 1, 4, 20)                          \
  X(SeqNum, "seq_num", 4, 0, 12)                       \
  X(PctEventType, "pct_event_type", 8, 0, 3)           \
  X(SptIdx, "spt_idx", 10, 0, 11)
#define PLNET_SOFT_PCT_SCT_FIELDS(X) \
  PLNET_SOFT_PCT(X)                  \
  X(Sct, "conn_idx.sct", 12, 0, 12)  \
  PLNET_SOFT_EVENT(X, 15)
#define PLNET_SOFT_PCT_TCT_FIELDS(X) \
  PLNET_SOFT_PCT(X)                  \
  X(Tct, "conn_idx.tct", 12, 0, 13)  \
  PLNET_SOFT_EVENT(X, 15)
#define PLNET_SOFT_TIMESTAMP_FIELDS(X)       \
  X(TimestampNs, "timestamp_ns", 0, 0, 30)   \
  X(TimestampSec, "timestamp_sec", 8, 0, 48) \
  PLNET_SOFT_EVENT(X, 15)
#define PLNET_SOFT_TRIGGERED_FIELDS(X) \
  X(Threshold, "threshold", 0, 0, 48)  \
  X(Ct, "ct_handle", 8, 0, 11)         \
  PLNET_SOFT_EVENT(X, 15)
#define PLNET_SOFT_HEADER_EVENT_FIELDS(X) PLNET_SOFT_EVENT(X, 15)
#define PLNET_SOFT_EQ_STATUS_FIELDS(X)               \
  X(TimestampNsCopy, "timestamp_ns_cpy", 0, 0, 30)   \
  X(TimestampSecCopy, "timestamp_sec_cpy", 8, 0, 48) \
  X(ThldSts, "thld_sts", 14, 0, 1)                   \
  X(ThldId, "thld_id", 14, 4, 2)                     \
  X(UnackdDropped, "unackd_dropped_event", 15, 0, 1) \
  X(DropSeqNo, "event_drop_seq_no", 15, 4, 1)        \
  X(SlotsFree, "event_slots_free", 16, 0, 26)        \
  X(SlotsReserved, "event_slots_rsrvd", 20, 0, 26)   \
  X(WrPtr, "wr_ptr", 24, 0, 26)                      \
  X(UsingBufferB, "using_buffer_b", 28, 0, 1)        \
  X(TimestampNs, "timestamp_ns", 52, 0, 30)          \
  X(TimestampSec, "timestamp_sec", 56, 0, 48)
#define PLNET_SOFT_EQ_SW_STATE_FIELDS(X)           \
  X(RdPtr, "rd_ptr", 0, 0, 26)                     \
  X(ReadingBufferB, "reading_buffer_b", 3, 7, 1)   \
  X(EventIntDisable, "event_int_disable", 4, 0, 1) \
  X(StsIntDisable, "sts_int_disable", 4, 1, 1)     \
  X(DropSeq, "drop_seq", 5, 0, 1)

namespace layout {

PLNET_SOFT_LAYOUT(InitiatorShort, 16, PLNET_SOFT_INITIATOR_SHORT_FIELDS);
PLNET_SOFT_LAYOUT(InitiatorLong, 32, PLNET_SOFT_INITIATOR_LONG_FIELDS);
PLNET_SOFT_LAYOUT(TargetShort, 32, PLNET_SOFT_TARGET_SHORT_FIELDS);
PLNET_SOFT_LAYOUT(TargetLong, 64, PLNET_SOFT_TARGET_LONG_FIELDS);
PLNET_SOFT_LAYOUT(StateChange, 64, PLNET_SOFT_STATE_CHANGE_FIELDS);
PLNET_SOFT_LAYOUT(CommandFailure, 16, PLNET_SOFT_COMMAND_FAILURE_FIELDS);
PLNET_SOFT_LAYOUT(PctSct, 16, PLNET_SOFT_PCT_SCT_FIELDS);
PLNET_SOFT_LAYOUT(PctTct, 16, PLNET_SOFT_PCT_TCT_FIELDS);
PLNET_SOFT_LAYOUT(TimeEvent, 16, PLNET_SOFT_TIMESTAMP_FIELDS);
PLNET_SOFT_LAYOUT(TriggeredEvent, 16, PLNET_SOFT_TRIGGERED_FIELDS);
PLNET_SOFT_LAYOUT(EqSwitch, 16, PLNET_SOFT_HEADER_EVENT_FIELDS);
PLNET_SOFT_LAYOUT(EqStatus, 64, PLNET_SOFT_EQ_STATUS_FIELDS);
PLNET_SOFT_LAYOUT(EqSwState, 8, PLNET_SOFT_EQ_SW_STATE_FIELDS);

}  // namespace layout
}  // namespace plnet::cassini::soft

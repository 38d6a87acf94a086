// SPDX-License-Identifier: BSD-3-Clause
// Packet headers as the public headers define them, for comparison with a trace of the model.
// Checked against shs-cassini-headers: cassini_user_defs.h.
#pragma once

#include "drivers/net/cassini/soft/field.hpp"

namespace plnet::cassini::soft {

#define PLNET_SOFT_PKT_FIRST(X) \
  X(Opcode, "opcode", 0, 0, 4)  \
  X(Type, "type", 0, 4, 3)      \
  X(Req, "req", 0, 7, 1)
#define PLNET_SOFT_PKT_SECOND(X)    \
  X(IndexExt, "index_ext", 1, 0, 5) \
  X(PktidExt, "pktid_ext", 1, 5, 2) \
  X(Flush, "flush", 1, 7, 1)

#define PLNET_SOFT_PKT_IPV4_FIELDS(X)      \
  X(Ihl, "ihl", 0, 0, 4)                   \
  X(Ver, "ver", 0, 4, 4)                   \
  X(Ecn, "ecn", 1, 0, 2)                   \
  X(Dscp, "dscp", 1, 2, 6)                 \
  X(TotalLength, "total_length", 2, 0, 16) \
  X(Vni, "vni", 4, 0, 16)                  \
  X(SptIdxHi, "spt_idx_hi", 6, 0, 6)       \
  X(Try, "try", 7, 0, 3)                   \
  X(SptIdxLow, "spt_idx_low", 7, 3, 5)     \
  X(Ttl, "ttl", 8, 0, 8)                   \
  X(Protocol, "protocol", 9, 0, 8)         \
  X(Checksum, "checksum", 10, 0, 16)       \
  X(Sfa, "sfa", 12, 0, 32)                 \
  X(Dfa, "dfa", 16, 0, 32)
#define PLNET_SOFT_PKT_SHORT_FIELDS(X) \
  X(DscpHi, "dscp_hi", 0, 0, 4)        \
  X(Ver, "ver", 0, 4, 4)               \
  X(DscpLow, "dscp_low", 1, 6, 2)      \
  X(SptIdxHi, "spt_idx_hi", 2, 0, 8)   \
  X(Try, "try", 3, 2, 3)               \
  X(SptIdxLow, "spt_idx_low", 3, 5, 3) \
  X(Vni, "vni", 4, 0, 16)              \
  X(Sfa, "sfa", 6, 0, 32)              \
  X(Dfa, "dfa", 10, 0, 32)
#define PLNET_SOFT_PKT_UNRESTRICTED_FIELDS(X) \
  PLNET_SOFT_PKT_FIRST(X)                     \
  PLNET_SOFT_PKT_SECOND(X)                    \
  X(RemoteOffset, "remote_offset", 2, 0, 56)  \
  X(MsgId, "msg_id", 9, 0, 8)                 \
  X(SeqHi, "seq_hi", 10, 0, 8)                \
  X(ClrHi, "clr_hi", 11, 0, 4)                \
  X(SeqLow, "seq_low", 11, 4, 4)              \
  X(ClrLow, "clr_low", 12, 0, 8)              \
  X(SctHi, "sct_hi", 13, 0, 8)                \
  X(RdzvHi, "rdzv_hi", 14, 0, 4)              \
  X(SctLow, "sct_low", 14, 4, 4)              \
  X(UseOffset, "use_offset", 15, 2, 1)        \
  X(SrcError, "src_error", 15, 3, 1)          \
  X(RdzvLow, "rdzv_low", 15, 4, 4)            \
  X(RequestLen, "request_len", 16, 0, 32)     \
  X(Initiator, "initiator", 20, 0, 32)        \
  X(MatchBits, "match_bits", 24, 0, 64)       \
  X(HeaderData, "header_data", 32, 0, 64)     \
  X(EagerHi, "eager_hi", 40, 0, 8)            \
  X(EagerMid, "eager_mid", 41, 0, 8)          \
  X(EagerLow, "eager_low", 42, 4, 4)
#define PLNET_SOFT_PKT_SMALL_FIELDS(X)          \
  PLNET_SOFT_PKT_FIRST(X)                       \
  PLNET_SOFT_PKT_SECOND(X)                      \
  X(HeaderData, "header_data", 2, 0, 64)        \
  X(SeqHi, "seq_hi", 10, 0, 8)                  \
  X(ClrHi, "clr_hi", 11, 0, 4)                  \
  X(SeqLow, "seq_low", 11, 4, 4)                \
  X(ClrLow, "clr_low", 12, 0, 8)                \
  X(SctHi, "sct_hi", 13, 0, 8)                  \
  X(RequestLenHi, "request_len_hi", 14, 0, 4)   \
  X(SctLow, "sct_low", 14, 4, 4)                \
  X(RequestLenLow, "request_len_low", 15, 0, 8) \
  X(Initiator, "initiator", 16, 0, 32)          \
  X(MatchBits, "match_bits", 20, 0, 64)         \
  X(SrcError, "src_error", 28, 7, 1)
#define PLNET_SOFT_PKT_CONTINUATION_FIELDS(X) \
  PLNET_SOFT_PKT_FIRST(X)                     \
  X(SrcError, "src_error", 1, 2, 1)           \
  X(Ordered, "ordered", 1, 3, 1)              \
  X(Eom, "eom", 1, 4, 1)                      \
  X(PktidExt, "pktid_ext", 1, 5, 2)           \
  X(Flush, "flush", 1, 7, 1)                  \
  X(Offset, "offset", 2, 0, 32)               \
  X(MsgId, "msg_id", 6, 0, 8)                 \
  X(SeqHi, "seq_hi", 7, 0, 8)                 \
  X(ClrHi, "clr_hi", 8, 0, 4)                 \
  X(SeqLow, "seq_low", 8, 4, 4)               \
  X(ClrLow, "clr_low", 9, 0, 8)               \
  X(SctHi, "sct_hi", 10, 0, 8)                \
  X(XferLenHi, "xfer_len_hi", 11, 0, 4)       \
  X(SctLow, "sct_low", 11, 4, 4)              \
  X(XferLenLow, "xfer_len_low", 12, 0, 8)
#define PLNET_SOFT_PKT_RESTRICTED_FIELDS(X)  \
  PLNET_SOFT_PKT_FIRST(X)                    \
  PLNET_SOFT_PKT_SECOND(X)                   \
  X(RemoteOffset, "remote_offset", 2, 0, 56) \
  X(LenHi, "len_hi", 9, 0, 4)                \
  X(SrcError, "src_error", 9, 4, 1)          \
  X(LenLow, "len_low", 10, 0, 8)

namespace layout {

PLNET_SOFT_PACKET(PacketIpv4, 20, PLNET_SOFT_PKT_IPV4_FIELDS);
PLNET_SOFT_PACKET(PacketShort, 14, PLNET_SOFT_PKT_SHORT_FIELDS);
PLNET_SOFT_PACKET(PacketUnrestricted, 43, PLNET_SOFT_PKT_UNRESTRICTED_FIELDS);
PLNET_SOFT_PACKET(PacketSmallMessage, 29, PLNET_SOFT_PKT_SMALL_FIELDS);
PLNET_SOFT_PACKET(PacketContinuation, 13, PLNET_SOFT_PKT_CONTINUATION_FIELDS);
PLNET_SOFT_PACKET(PacketRestricted, 11, PLNET_SOFT_PKT_RESTRICTED_FIELDS);

}  // namespace layout
}  // namespace plnet::cassini::soft

// SPDX-License-Identifier: BSD-3-Clause
// Numbers in commands and events. Values checked against shs-cassini-headers cassini_user_defs.h,
// commit 06f69b00.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/base/result.hpp"

namespace plnet::cassini {

enum class CommandType : std::uint8_t { kIdc, kDma, kCounter, kQueue };
enum class SizeCode : std::uint8_t { k32, k64, k128, k256 };

namespace opcode {
// Operations of IDC and DMA commands.
inline constexpr unsigned kNoop = 0, kPut = 1, kGet = 2, kRendezvousPut = 3, kAtomic = 4,
                          kFetchingAtomic = 5, kEthernet = 6, kSmallMessage = 7, kNomatchPut = 8,
                          kNomatchGet = 9, kCState = 10, kClose = 11, kClear = 12, kReduction = 13;
// Operations of counter commands.
inline constexpr unsigned kCtNoop = 0, kCtSet = 1, kCtGet = 2, kCtInc = 3, kCtCancel = 4,
                          kCtTrigDma = 5, kCtTrigSet = 6, kCtTrigInc = 7, kCtTrigEvent = 8;
// Operations of queue commands: on a transmit queue, then on a target queue.
inline constexpr unsigned kCqNoop = 0, kFence = 1, kLcid = 2;
inline constexpr unsigned kAppend = 8, kSearch = 9, kSearchAndDelete = 10, kUnlink = 11,
                          kSetState = 12;
}  // namespace opcode

// The first byte of every command.
constexpr std::uint8_t command_byte(CommandType type, SizeCode size, unsigned operation) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(type) | static_cast<unsigned>(size) << 2U |
                                   operation << 4U);
}
constexpr CommandType type_of(std::uint8_t command) {
  return static_cast<CommandType>(command & 3U);
}
constexpr SizeCode size_of(std::uint8_t command) {
  return static_cast<SizeCode>(command >> 2U & 3U);
}
constexpr unsigned opcode_of(std::uint8_t command) {
  return command >> 4U;
}
constexpr unsigned bytes_of(SizeCode size) {
  return 32U << static_cast<unsigned>(size);
}
// The smallest command size for this many bytes, 1 to 256.
constexpr SizeCode size_for(unsigned bytes) {
  return bytes <= 32
             ? SizeCode::k32
             : (bytes <= 64 ? SizeCode::k64 : (bytes <= 128 ? SizeCode::k128 : SizeCode::k256));
}

#define PLNET_CASSINI_EVENT_TYPES(X)                  \
  X(kPut, 0, "PUT")                                   \
  X(kGet, 1, "GET")                                   \
  X(kAtomic, 2, "ATOMIC")                             \
  X(kFetchAtomic, 3, "FETCH_ATOMIC")                  \
  X(kPutOverflow, 4, "PUT_OVERFLOW")                  \
  X(kGetOverflow, 5, "GET_OVERFLOW")                  \
  X(kAtomicOverflow, 6, "ATOMIC_OVERFLOW")            \
  X(kFetchAtomicOverflow, 7, "FETCH_ATOMIC_OVERFLOW") \
  X(kSend, 8, "SEND")                                 \
  X(kAck, 9, "ACK")                                   \
  X(kReply, 10, "REPLY")                              \
  X(kLink, 11, "LINK")                                \
  X(kSearch, 12, "SEARCH")                            \
  X(kStateChange, 13, "STATE_CHANGE")                 \
  X(kUnlink, 14, "UNLINK")                            \
  X(kRendezvous, 15, "RENDEZVOUS")                    \
  X(kEthernet, 16, "ETHERNET")                        \
  X(kCommandFailure, 17, "COMMAND_FAILURE")           \
  X(kTriggeredOp, 18, "TRIGGERED_OP")                 \
  X(kEthernetFgfc, 19, "ETHERNET_FGFC")               \
  X(kPct, 20, "PCT")                                  \
  X(kMatch, 21, "MATCH")                              \
  X(kError, 28, "ERROR")                              \
  X(kTimestamp, 29, "TIMESTAMP")                      \
  X(kEqSwitch, 30, "EQ_SWITCH")                       \
  X(kNull, 31, "NULL_EVENT")

// The device's return codes of operations: name, value, and the error for the LND, as in kfi_cxi
// (shs-kfabric prov/cxi). Where kfi_cxi returns only EIO, errors of the target or the fabric are
// reported as such, so that the right interface loses health.
#define PLNET_CASSINI_RETURN_CODES(X)                  \
  X(kNoEvent, 0, "NO_EVENT", kIo)                      \
  X(kOk, 1, "OK", kIo)                                 \
  X(kUndeliverable, 2, "UNDELIVERABLE", kNoRoute)      \
  X(kPtDisabled, 3, "PT_DISABLED", kRefused)           \
  X(kDropped, 4, "DROPPED", kRefused)                  \
  X(kPermViolation, 5, "PERM_VIOLATION", kIo)          \
  X(kOpViolation, 6, "OP_VIOLATION", kProtocol)        \
  X(kNoMatch, 8, "NO_MATCH", kIo)                      \
  X(kUncor, 9, "UNCOR", kIo)                           \
  X(kUncorTransient, 10, "UNCOR_TRNSNT", kIo)          \
  X(kNoSpace, 16, "NO_SPACE", kAgain)                  \
  X(kEntryNotFound, 18, "ENTRY_NOT_FOUND", kRefused)   \
  X(kNoTargetConn, 19, "NO_TARGET_CONN", kIo)          \
  X(kNoTargetMst, 20, "NO_TARGET_MST", kIo)            \
  X(kNoTargetTrs, 21, "NO_TARGET_TRS", kIo)            \
  X(kSequenceError, 22, "SEQUENCE_ERROR", kIo)         \
  X(kNoMatchingConn, 23, "NO_MATCHING_CONN", kIo)      \
  X(kInvalidDfaFormat, 24, "INVALID_DFA_FORMAT", kIo)  \
  X(kVniNotFound, 25, "VNI_NOT_FOUND", kNoRoute)       \
  X(kPtlteNotFound, 26, "PTLTE_NOT_FOUND", kNoRoute)   \
  X(kPtlteSwManaged, 27, "PTLTE_SW_MANAGED", kRefused) \
  X(kSrcError, 28, "SRC_ERROR", kIo)                   \
  X(kMstCancelled, 29, "MST_CANCELLED", kCancelled)    \
  X(kHrpConfigError, 30, "HRP_CONFIG_ERROR", kIo)      \
  X(kHrpRspError, 31, "HRP_RSP_ERROR", kIo)            \
  X(kHrpRspDiscard, 32, "HRP_RSP_DISCARD", kIo)        \
  X(kInvalidAc, 33, "INVALID_AC", kIo)                 \
  X(kPagePermError, 34, "PAGE_PERM_ERROR", kIo)        \
  X(kAtsError, 35, "ATS_ERROR", kIo)                   \
  X(kNoTranslation, 36, "NO_TRANSLATION", kIo)         \
  X(kPageReqError, 37, "PAGE_REQ_ERROR", kIo)          \
  X(kPciePoisoned, 38, "PCIE_ERROR_POISONED", kIo)     \
  X(kPcieUnsuccess, 39, "PCIE_UNSUCCESS_CMPL", kIo)    \
  X(kAmoInvalOp, 40, "AMO_INVAL_OP_ERROR", kIo)        \
  X(kAmoAlign, 41, "AMO_ALIGN_ERROR", kIo)             \
  X(kAmoFpInvalid, 42, "AMO_FP_INVALID", kIo)          \
  X(kAmoFpUnderflow, 43, "AMO_FP_UNDERFLOW", kIo)      \
  X(kAmoFpOverflow, 44, "AMO_FP_OVERFLOW", kIo)        \
  X(kAmoFpInexact, 45, "AMO_FP_INEXACT", kIo)          \
  X(kIllegalOp, 46, "ILLEGAL_OP", kIo)                 \
  X(kInvalidEndpoint, 47, "INVALID_ENDPOINT", kIo)     \
  X(kRestrictedUnicast, 48, "RESTRICTED_UNICAST", kIo) \
  X(kCmdAlignError, 49, "CMD_ALIGN_ERROR", kIo)        \
  X(kCmdInvalidArg, 50, "CMD_INVALID_ARG", kIo)        \
  X(kInvalidEvent, 51, "INVALID_EVENT", kIo)           \
  X(kAddrOutOfRange, 52, "ADDR_OUT_OF_RANGE", kIo)     \
  X(kConnClosed, 53, "CONN_CLOSED", kIo)               \
  X(kCanceled, 54, "CANCELED", kIo)                    \
  X(kNoMatchingTrs, 55, "NO_MATCHING_TRS", kIo)        \
  X(kNoMatchingMst, 56, "NO_MATCHING_MST", kIo)        \
  X(kDelayed, 57, "DELAYED", kIo)                      \
  X(kAmoLengthError, 58, "AMO_LENGTH_ERROR", kIo)      \
  X(kPktbufError, 59, "PKTBUF_ERROR", kIo)             \
  X(kResourceBusy, 60, "RESOURCE_BUSY", kRefused)      \
  X(kFlushTranslation, 61, "FLUSH_TRANSLATION", kIo)   \
  X(kTrsPendRsp, 62, "TRS_PEND_RSP", kRefused)

// NOLINTBEGIN(bugprone-macro-parentheses): enumerators take none
enum class EventType : std::uint8_t {
#define PLNET_X(name, value, text) name = value,
  PLNET_CASSINI_EVENT_TYPES(PLNET_X)
#undef PLNET_X
};
enum class ReturnCode : std::uint8_t {
#define PLNET_X(name, value, text, errc) name = value,
  PLNET_CASSINI_RETURN_CODES(PLNET_X)
#undef PLNET_X
};
// NOLINTEND(bugprone-macro-parentheses)

// "unknown" for values without a name. Both accept any value, since the device wrote it.
[[nodiscard]] std::string_view name_of(EventType type);
[[nodiscard]] std::string_view name_of(ReturnCode code);
// The error of a failed operation. kOk and values without a name give kIo.
[[nodiscard]] Errc errc_of(ReturnCode code);

enum class PortalList : std::uint8_t { kPriority, kOverflow, kRequest, kUnexpected };
enum class PortalState : std::uint8_t { kReset, kDisabled, kEnabled, kSoftwareManaged, kEthernet };
enum class StateReason : std::uint8_t {
  kEqFull,
  kNoMatch,
  kUnexpectedFail,
  kRequestFull,
  kSmUnexpectedFail,
  kSmAppendFail,
  kUncor
};
[[nodiscard]] std::string_view name_of(PortalState state);
// The drop_count of a SETSTATE that enables regardless of drops.
inline constexpr std::uint32_t kIgnoreDrops = 0xffffff;

}  // namespace plnet::cassini

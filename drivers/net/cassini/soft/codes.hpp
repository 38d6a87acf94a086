// SPDX-License-Identifier: BSD-3-Clause
// Numbers in commands, events and status blocks (shs-cassini-headers: cxi_prov_hw.h,
// cassini_user_defs.h), and the limits of the device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plnet::cassini::soft {

enum class CommandType : std::uint8_t { kIdc = 0, kDma = 1, kCt = 2, kCq = 3 };

enum class DmaOpcode : std::uint8_t {
  kNoop = 0,
  kPut = 1,
  kGet = 2,
  kRendezvousPut = 3,
  kAtomic = 4,
  kFetchingAtomic = 5,
  kEthernetTx = 6,
  kSmallMessage = 7,
  kNomatchPut = 8,
  kNomatchGet = 9,
  kCstate = 10,
  kClose = 11,
  kClear = 12,
  kReduction = 13,
};
enum class CtOpcode : std::uint8_t {
  kNoop = 0,
  kSet = 1,
  kGet = 2,
  kInc = 3,
  kCancel = 4,
  kTriggeredDma = 5,
  kTriggeredSet = 6,
  kTriggeredInc = 7,
  kTriggeredEvent = 8
};
enum class CqOpcode : std::uint8_t {
  kNoop = 0,
  kFence = 1,
  kLcid = 2,
  kAppend = 8,
  kSearch = 9,
  kSearchAndDelete = 10,
  kUnlink = 11,
  kSetstate = 12,
};

enum class PortalState : std::uint8_t {
  kReset = 0,
  kDisabled = 1,
  kEnabled = 2,
  kSoftwareManaged = 3,
  kEthernet = 4,
};
enum class ListKind : std::uint8_t { kPriority = 0, kOverflow = 1, kRequest = 2, kUnexpected = 3 };
inline constexpr unsigned kLists = 4;

enum class EventType : std::uint8_t {
  kPut = 0,
  kGet = 1,
  kAtomic = 2,
  kFetchAtomic = 3,
  kPutOverflow = 4,
  kGetOverflow = 5,
  kSend = 8,
  kAck = 9,
  kReply = 10,
  kLink = 11,
  kSearch = 12,
  kStateChange = 13,
  kUnlink = 14,
  kRendezvous = 15,
  kCommandFailure = 17,
  kTriggered = 18,
  kPct = 20,
  kMatch = 21,
  kEqSwitch = 30,
  kNull = 31,
};

enum class ReturnCode : std::uint8_t {
  kNoEvent = 0,
  kOk = 1,
  kUndeliverable = 2,
  kPtDisabled = 3,
  kDropped = 4,
  kPermViolation = 5,
  kOpViolation = 6,
  kNoMatch = 8,
  kUncor = 9,
  kNoSpace = 16,
  kEntryNotFound = 18,
  kNoTargetConn = 19,
  kNoTargetMst = 20,
  kNoTargetTrs = 21,
  kSequenceError = 22,
  kNoMatchingConn = 23,
  kInvalidDfaFormat = 24,
  kVniNotFound = 25,
  kPtlteNotFound = 26,
  kPtlteSwManaged = 27,
  kMstCancelled = 29,
  kInvalidAc = 33,
  kPagePermError = 34,
  kNoTranslation = 36,
  kPageRequestError = 37,
  kAtomicInvalid = 40,
  kAtomicMisaligned = 41,
  kIllegalOp = 46,
  kInvalidEndpoint = 47,
  kCmdAlignError = 49,
  kCmdInvalidArg = 50,
  kAddrOutOfRange = 52,
  kConnClosed = 53,
  kCanceled = 54,
  kAtomicLength = 58,
  kResourceBusy = 60,
  kTrsPendRsp = 62,
};
inline constexpr unsigned kReturnCodeMax = 63;  // the field has six bits everywhere

enum class StateChangeReason : std::uint8_t {
  kEqFull = 0,
  kNoMatch = 1,
  kUnexpectedFail = 2,
  kRequestFull = 3,
  kSmUnexpectedFail = 4,
  kSmAppendFail = 5,
  kUncorrectable = 6,
};

enum class UpdatePolicy : std::uint8_t { kAlways, kHighFreqEmpty, kLowFreqEmpty, kLowFreq };

// Queues: 64-byte slots, of which the first four are the status block; positions count 32 bytes.
inline constexpr unsigned kSlotBytes = 64;
inline constexpr unsigned kUnitBytes = 32;
inline constexpr unsigned kFirstSlot = 4;
inline constexpr unsigned kFirstUnit = kFirstSlot * 2;
inline constexpr std::size_t kLaunchPageBytes = 4096;
inline constexpr std::size_t kWindow64 = 0x400, kWindow128Aligned = 0x800, kWindow128Skip = 0xC00;

// Bits of the EQ attribute flags that the model knows.
enum EqFlags : std::uint64_t {
  kEqPassthrough = 1U << 1,
  kEqInitLong = 1U << 2,
  kEqTargetLong = 1U << 3,
  kEqDropStatusDisable = 1U << 4,
};

struct Limits {
  unsigned transmit_queues = 1024;
  unsigned target_queues = 512;  // hardware index from 1024
  unsigned event_queues = 2048;  // 0 means none
  unsigned portals = 2048;       // 0 is not used
  unsigned counters = 2048;      // 0 means none
  unsigned address_contexts = 1024;
  unsigned resource_groups = 256;
  unsigned list_entries = 65536;
  unsigned triggered = 2048;  // TLE
  unsigned profiles = 16;     // per resource group
  unsigned service_vnis = 4;
  unsigned mappings = 65536;       // the model's own limit
  unsigned message_states = 2048;  // MST
};
inline constexpr unsigned kAddressContextsPerGroup = 8;
inline constexpr unsigned kQueueSlotsMax = 65536;
inline constexpr unsigned kFirstTargetQueue = 1024;
inline constexpr unsigned kPidBits = 9;
inline constexpr unsigned kPidAnyValue = (1U << kPidBits) - 1;
inline constexpr unsigned kPidGranule = 1U << (17 - kPidBits);
inline constexpr unsigned kNicAddressBits = 20;
inline constexpr std::uint32_t kNicAddressAny = (1U << kNicAddressBits) - 1;
inline constexpr std::uint64_t kIovaLimit = std::uint64_t{1} << 57;
inline constexpr std::uint32_t kDropCountIgnored = 0xFFFFFF;
inline constexpr unsigned kShortLengthLimit = 1U << 20;
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr unsigned kReservedEventSlots = 2;
inline constexpr unsigned kReservedFlowControlMax = 16383;

// match_id: the pid above the 20-bit NIC address.
constexpr std::uint32_t match_id(unsigned pid, std::uint32_t nic, unsigned pid_bits = kPidBits) {
  return static_cast<std::uint32_t>(std::uint64_t{pid} << (32 - pid_bits)) | (nic & kNicAddressAny);
}
// endpoint_defined: 12 bits, of the PID and the upper bits of the portal index.
inline constexpr unsigned kIndexExtBits = 5;
constexpr unsigned endpoint_defined(unsigned pid, unsigned index, unsigned pid_bits = kPidBits) {
  return ((index >> kIndexExtBits) << pid_bits) + pid;
}
constexpr std::uint8_t index_of(std::uint64_t defined, std::uint64_t index_ext) {
  return static_cast<std::uint8_t>((defined >> kPidBits) << kIndexExtBits | index_ext);
}

}  // namespace plnet::cassini::soft

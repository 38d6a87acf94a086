// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/decode/rpc_names.hpp"

#include <array>

namespace plnet::trace::rpc_names {

namespace {

constexpr std::array kOpcodes = std::to_array<NamedNumber>({
    {0, "OST_REPLY"},
    {1, "OST_GETATTR"},
    {2, "OST_SETATTR"},
    {3, "OST_READ"},
    {4, "OST_WRITE"},
    {5, "OST_CREATE"},
    {6, "OST_DESTROY"},
    {7, "OST_GET_INFO"},
    {8, "OST_CONNECT"},
    {9, "OST_DISCONNECT"},
    {10, "OST_PUNCH"},
    {11, "OST_OPEN"},
    {12, "OST_CLOSE"},
    {13, "OST_STATFS"},
    {16, "OST_SYNC"},
    {17, "OST_SET_INFO"},
    {18, "OST_QUOTACHECK"},
    {19, "OST_QUOTACTL"},
    {20, "OST_QUOTA_ADJUST_QUNIT"},
    {21, "OST_LADVISE"},
    {22, "OST_FALLOCATE"},
    {23, "OST_SEEK"},
    {33, "MDS_GETATTR"},
    {34, "MDS_GETATTR_NAME"},
    {35, "MDS_CLOSE"},
    {36, "MDS_REINT"},
    {37, "MDS_READPAGE"},
    {38, "MDS_CONNECT"},
    {39, "MDS_DISCONNECT"},
    {40, "MDS_GET_ROOT"},
    {41, "MDS_STATFS"},
    {42, "MDS_PIN"},
    {43, "MDS_UNPIN"},
    {44, "MDS_SYNC"},
    {45, "MDS_DONE_WRITING"},
    {46, "MDS_SET_INFO"},
    {47, "MDS_QUOTACHECK"},
    {48, "MDS_QUOTACTL"},
    {49, "MDS_GETXATTR"},
    {50, "MDS_SETXATTR"},
    {51, "MDS_WRITEPAGE"},
    {52, "MDS_IS_SUBDIR"},
    {53, "MDS_GET_INFO"},
    {54, "MDS_HSM_STATE_GET"},
    {55, "MDS_HSM_STATE_SET"},
    {56, "MDS_HSM_ACTION"},
    {57, "MDS_HSM_PROGRESS"},
    {58, "MDS_HSM_REQUEST"},
    {59, "MDS_HSM_CT_REGISTER"},
    {60, "MDS_HSM_CT_UNREGISTER"},
    {61, "MDS_SWAP_LAYOUTS"},
    {62, "MDS_RMFID"},
    {63, "MDS_BATCH"},
    {64, "MDS_HSM_DATA_VERSION"},
    {101, "LDLM_ENQUEUE"},
    {102, "LDLM_CONVERT"},
    {103, "LDLM_CANCEL"},
    {104, "LDLM_BL_CALLBACK"},
    {105, "LDLM_CP_CALLBACK"},
    {106, "LDLM_GL_CALLBACK"},
    {107, "LDLM_SET_INFO"},
    {250, "MGS_CONNECT"},
    {251, "MGS_DISCONNECT"},
    {252, "MGS_EXCEPTION"},
    {253, "MGS_TARGET_REG"},
    {254, "MGS_TARGET_DEL"},
    {255, "MGS_SET_INFO"},
    {256, "MGS_CONFIG_READ"},
    {400, "OBD_PING"},
    {401, "OBD_LOG_CANCEL"},
    {402, "OBD_QC_CALLBACK"},
    {403, "OBD_IDX_READ"},
    {501, "LLOG_ORIGIN_HANDLE_CREATE"},
    {502, "LLOG_ORIGIN_HANDLE_NEXT_BLOCK"},
    {503, "LLOG_ORIGIN_HANDLE_READ_HEADER"},
    {504, "LLOG_ORIGIN_HANDLE_WRITE_REC"},
    {505, "LLOG_ORIGIN_HANDLE_CLOSE"},
    {506, "LLOG_ORIGIN_CONNECT"},
    {507, "LLOG_CATINFO"},
    {508, "LLOG_ORIGIN_HANDLE_PREV_BLOCK"},
    {509, "LLOG_ORIGIN_HANDLE_DESTROY"},
    {601, "QUOTA_DQACQ"},
    {602, "QUOTA_DQREL"},
    {700, "SEQ_QUERY"},
    {801, "SEC_CTX_INIT"},
    {802, "SEC_CTX_INIT_CONT"},
    {803, "SEC_CTX_FINI"},
    {900, "FLD_QUERY"},
    {901, "FLD_READ"},
    {1000, "OUT_UPDATE"},
    {1101, "LFSCK_NOTIFY"},
    {1102, "LFSCK_QUERY"},
});
constexpr std::array kBodyTypes = std::to_array<NamedNumber>({
    {4711, "REQ"},
    {4712, "ERR"},
    {4713, "REP"},
});
constexpr std::array kBodyFlags = std::to_array<NamedNumber>({
    {0x1, "LAST_REPLAY"},
    {0x2, "RESENT"},
    {0x4, "REPLAY"},
    {0x8, "AT_SUPPORT"},
    {0x10, "DELAY_REPLAY"},
    {0x20, "VERSION_REPLAY"},
    {0x40, "REQ_REPLAY_DONE"},
    {0x80, "LOCK_REPLAY_DONE"},
    {0x100, "CLIENT_BANNED"},
    {0x200, "PACK_UID_GID"},
    {0x400, "PACK_PROJID"},
});
constexpr std::array kConnectFlags = std::to_array<NamedNumber>({
    {0x1, "RECOVERING"},
    {0x2, "RECONNECT"},
    {0x4, "REPLAYABLE"},
    {0x10, "LIBCLIENT"},
    {0x20, "INITIAL"},
    {0x80, "NEXT_VER"},
    {0x100, "TRANSNO"},
});
constexpr std::array kVersionModules = std::to_array<NamedNumber>({
    {1, "OBD"},
    {2, "MDS"},
    {3, "OST"},
    {4, "DLM"},
    {5, "LOG"},
    {6, "MGS"},
});
constexpr std::array kReints = std::to_array<NamedNumber>({
    {1, "SETATTR"},
    {2, "CREATE"},
    {3, "LINK"},
    {4, "UNLINK"},
    {5, "RENAME"},
    {6, "OPEN"},
    {7, "SETXATTR"},
    {8, "RMENTRY"},
    {9, "MIGRATE"},
    {10, "RESYNC"},
});
constexpr std::array kIntents = std::to_array<NamedNumber>({
    {0x1, "OPEN"},
    {0x2, "CREAT"},
    {0x4, "READDIR"},
    {0x8, "GETATTR"},
    {0x10, "LOOKUP"},
    {0x20, "UNLINK"},
    {0x40, "TRUNC"},
    {0x80, "GETXATTR"},
    {0x100, "EXEC"},
    {0x200, "PIN"},
    {0x400, "LAYOUT"},
    {0x800, "QUOTA_DQACQ"},
    {0x1000, "QUOTA_CONN"},
    {0x2000, "SETXATTR"},
    {0x4000, "GLIMPSE"},
    {0x8000, "BRW"},
});
constexpr std::array kLockTypes = std::to_array<NamedNumber>({
    {10, "PLAIN"},
    {11, "EXTENT"},
    {12, "FLOCK"},
    {13, "IBITS"},
});
constexpr std::array kLockModes = std::to_array<NamedNumber>({
    {0x1, "EX"},
    {0x2, "PW"},
    {0x4, "PR"},
    {0x8, "CW"},
    {0x10, "CR"},
    {0x20, "NL"},
    {0x40, "GROUP"},
    {0x80, "COS"},
    {0x100, "TXN"},
});
constexpr std::array kInodeBits = std::to_array<NamedNumber>({
    {0x1, "LOOKUP"},
    {0x2, "UPDATE"},
    {0x4, "OPEN"},
    {0x8, "LAYOUT"},
    {0x10, "PERM"},
    {0x20, "XATTR"},
    {0x40, "DOM"},
});
constexpr std::array kDispositions = std::to_array<NamedNumber>({
    {0x1, "IT_EXECD"},
    {0x2, "LOOKUP_EXECD"},
    {0x4, "LOOKUP_NEG"},
    {0x8, "LOOKUP_POS"},
    {0x10, "OPEN_CREATE"},
    {0x20, "OPEN_OPEN"},
    {0x800000, "ENQ_OPEN_REF"},
    {0x1000000, "ENQ_CREATE_REF"},
    {0x2000000, "OPEN_LOCK"},
    {0x4000000, "OPEN_LEASE"},
    {0x8000000, "OPEN_STRIPE"},
    {0x10000000, "OPEN_DENY"},
});
constexpr std::array kUpdates = std::to_array<NamedNumber>({
    {1, "CREATE"},
    {2, "DESTROY"},
    {3, "REF_ADD"},
    {4, "REF_DEL"},
    {5, "ATTR_SET"},
    {6, "ATTR_GET"},
    {7, "XATTR_SET"},
    {8, "XATTR_GET"},
    {9, "INDEX_LOOKUP"},
    {10, "INDEX_INSERT"},
    {11, "INDEX_DELETE"},
    {12, "WRITE"},
    {13, "XATTR_DEL"},
    {14, "PUNCH"},
    {15, "READ"},
    {16, "NOOP"},
    {17, "XATTR_LIST"},
});
constexpr std::array kFldOperations = std::to_array<NamedNumber>({
    {0, "CREATE"},
    {1, "DELETE"},
    {2, "LOOKUP"},
});
constexpr std::array kSequenceOperations = std::to_array<NamedNumber>({
    {0, "ALLOC_SUPER"},
    {1, "ALLOC_META"},
});
constexpr std::array kSelftestTypes = std::to_array<NamedNumber>({
    {0, "MAKE_SESSION_REQ"},
    {1, "MAKE_SESSION_REPLY"},
    {2, "REMOVE_SESSION_REQ"},
    {3, "REMOVE_SESSION_REPLY"},
    {4, "BATCH_REQ"},
    {5, "BATCH_REPLY"},
    {6, "STAT_REQ"},
    {7, "STAT_REPLY"},
    {8, "TEST_REQ"},
    {9, "TEST_REPLY"},
    {10, "DEBUG_REQ"},
    {11, "DEBUG_REPLY"},
    {12, "BRW_REQ"},
    {13, "BRW_REPLY"},
    {14, "PING_REQ"},
    {15, "PING_REPLY"},
    {16, "JOIN_REQ"},
    {17, "JOIN_REPLY"},
});

}  // namespace

NameTable opcodes() {
  return kOpcodes;
}

NameTable body_types() {
  return kBodyTypes;
}

NameTable body_flags() {
  return kBodyFlags;
}

NameTable connect_flags() {
  return kConnectFlags;
}

NameTable version_modules() {
  return kVersionModules;
}

NameTable reints() {
  return kReints;
}

NameTable intents() {
  return kIntents;
}

NameTable lock_types() {
  return kLockTypes;
}

NameTable lock_modes() {
  return kLockModes;
}

NameTable inode_bits() {
  return kInodeBits;
}

NameTable dispositions() {
  return kDispositions;
}

NameTable updates() {
  return kUpdates;
}

NameTable fld_operations() {
  return kFldOperations;
}

NameTable sequence_operations() {
  return kSequenceOperations;
}

NameTable selftest_types() {
  return kSelftestTypes;
}

}  // namespace plnet::trace::rpc_names

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a filter program for `lnetdump --bpf` looks at. Compile with
 *   clang -target bpf -mcpu=v2 -O2 -c filter.c -o filter.o
 * one function, not static: int NAME(const struct lnetdump_message *message). What it returns is not
 * 0 if the message is wanted. It cannot loop, call anything, or change the message.
 */
#ifndef LNETDUMP_FILTER_H
#define LNETDUMP_FILTER_H

enum {
  LNETDUMP_ACK = 0,
  LNETDUMP_PUT = 1,
  LNETDUMP_GET = 2,
  LNETDUMP_REPLY = 3,
};
enum {
  LNETDUMP_RECEIVED = 0,
  LNETDUMP_SENT = 1,
  LNETDUMP_DROPPED = 2,
};
/* Bits of `present`: a field is valid if its bit is set. */
enum {
  LNETDUMP_HAS_PORTAL = 1u << 0,
  LNETDUMP_HAS_MATCH_BITS = 1u << 1,
  LNETDUMP_HAS_OFFSET = 1u << 2,
  LNETDUMP_HAS_SINK_LENGTH = 1u << 3,
  LNETDUMP_HAS_HEADER_DATA = 1u << 4,
  LNETDUMP_HAS_OPCODE = 1u << 5,
  LNETDUMP_HAS_RPC_TYPE = 1u << 6,
  LNETDUMP_HAS_STATUS = 1u << 7,
  LNETDUMP_HAS_XID = 1u << 8,
  LNETDUMP_HAS_JOB = 1u << 9,
  LNETDUMP_HAS_PID = 1u << 10,
  LNETDUMP_HAS_REINT = 1u << 11,
  LNETDUMP_HAS_INTENT = 1u << 12,
  LNETDUMP_HAS_SELFTEST_TYPE = 1u << 13,
  LNETDUMP_HAS_TRANSACTION = 1u << 14,
  LNETDUMP_HAS_IDS = 1u << 15,
  LNETDUMP_HAS_BODY_FLAGS = 1u << 16,
  LNETDUMP_HAS_BULK_BITS = 1u << 17,
  LNETDUMP_HAS_TAG = 1u << 18,
  LNETDUMP_HAS_PROJECT = 1u << 19,
};

/* A NID of LNet: extra bytes of the address, type of network, its number and the address, big endian. */
struct lnetdump_nid {
  unsigned char size;
  unsigned char type;
  unsigned char number[2];
  unsigned char address[16];
};

struct lnetdump_message {
  unsigned long long time_ns; /* since the epoch */
  unsigned char type_area[40];
  struct lnetdump_nid source;
  struct lnetdump_nid destination;
  struct lnetdump_nid hop;
  unsigned int source_pid;
  unsigned int destination_pid;
  unsigned int payload_length;
  unsigned int captured;
  unsigned char direction;
  unsigned char type;
  unsigned char cause;
  unsigned char interface;
  unsigned int present;
  unsigned int portal;
  unsigned long long match_bits;
  unsigned long long header_data;
  unsigned int offset;
  unsigned int sink_length;
  /* From the payload. */
  unsigned long long xid;
  unsigned long long transaction;
  unsigned long long bulk_bits;
  unsigned long long intent;
  char job[32];
  unsigned int opcode;
  unsigned int rpc_type;
  int status;
  unsigned int pid;
  unsigned int reint;
  unsigned int selftest_type;
  unsigned int uid;
  unsigned int gid;
  unsigned int body_flags;
  unsigned int project;
  unsigned int tag;
  unsigned int unused;
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* One message of the kernel's LNet, as the probes hand it to lnetdump. Both sides are of one
 * machine, so integers are in its byte order. */
#ifndef PLNET_LNETDUMP_PROBE_RECORD_H
#define PLNET_LNETDUMP_PROBE_RECORD_H

#include <linux/types.h>

enum {
  LNETDUMP_PROBE_RECEIVED = 0,
  LNETDUMP_PROBE_SENT = 1,
  LNETDUMP_PROBE_RECEIVED_DROPPED = 2, /* it arrived and goes no further */
  LNETDUMP_PROBE_REFUSED = 3,          /* it breaks the protocol */
  LNETDUMP_PROBE_UNSENT = 4,           /* it was to be sent and is not */
};

struct lnetdump_probe_record {
  __u64 time_ns; /* of the monotonic clock */
  __u8 type_area[40];
  __u8 source[20];
  __u8 destination[20];
  __u8 hop[20];       /* the neighbour; zeros: none was chosen yet */
  __u8 interface[20]; /* ours; zeros: none was chosen yet */
  __u32 source_pid;
  __u32 destination_pid;
  __u32 payload_length;
  __u32 type;
  __s32 status; /* of LNet, a negative number of an error; 0: none is known */
  __u32 way;    /* LNETDUMP_PROBE_… */
};

#endif

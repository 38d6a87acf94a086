/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Probes on the kernel's LNet: each message that it receives, sends or drops becomes a record in
 * one ring. Structures are declared with the members that are read; their true places come from the
 * type information (BTF) of the running module. Functions and members checked against
 * lustre-release lnet/lnet/lib-move.c, lib-msg.c and lnet/include/lnet/lib-types.h of 2.15.0,
 * 2.16.0 and 2.17.0.
 *
 * A received message is known in lnet_parse(), and what becomes of it only later: its record waits,
 * by thread, for the first of lnet_ni_recv() (it is taken), lnet_drop_message() and the return. */
/* libbpf's headers need the kernel's before them. */
/* clang-format off */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "probe_record.h"
/* clang-format on */

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct lnet_nid {
  __u8 nid_size;
} KERNEL_TYPE;

struct lnet_hdr {
  struct lnet_nid dest_nid;
  struct lnet_nid src_nid;
  __u32 dest_pid;
  __u32 src_pid;
  __u32 type;
  __u32 payload_length;
  struct {
    __u8 bytes[40];
  } msg;
} KERNEL_TYPE;

struct lnet_ni {
  struct lnet_nid ni_nid;
} KERNEL_TYPE;

struct lnet_peer_ni {
  struct lnet_nid lpni_nid;
} KERNEL_TYPE;

struct lnet_msg {
  unsigned int msg_tx_committed : 1;
  unsigned int msg_rx_committed : 1;
  unsigned int msg_tx_delayed : 1;
  unsigned int msg_txcredit : 1;
  struct lnet_peer_ni* msg_txpeer;
  struct lnet_ni* msg_txni;
  struct lnet_hdr msg_hdr;
} KERNEL_TYPE;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 22); /* lnetdump sets it */
} records SEC(".maps");

/* Of threads within lnet_parse(). One that is not there in time is overwritten or forgotten. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u64);
  __type(value, struct lnetdump_probe_record);
} arriving SEC(".maps");

__u64 offered = 0; /* records, also those that find the ring full */

static void submit(const struct lnetdump_probe_record* record) {
  __sync_fetch_and_add(&offered, 1);
  bpf_ringbuf_output(&records, (void*)record, sizeof(*record), 0);
}

static void read_header(struct lnetdump_probe_record* record, struct lnet_hdr* header) {
  record->time_ns = bpf_ktime_get_ns();
  bpf_core_read(record->type_area, sizeof(record->type_area), &header->msg);
  bpf_core_read(record->source, sizeof(record->source), &header->src_nid);
  bpf_core_read(record->destination, sizeof(record->destination), &header->dest_nid);
  record->source_pid = BPF_CORE_READ(header, src_pid);
  record->destination_pid = BPF_CORE_READ(header, dest_pid);
  record->payload_length = BPF_CORE_READ(header, payload_length);
  record->type = BPF_CORE_READ(header, type);
}

static void read_outgoing(struct lnetdump_probe_record* record, struct lnet_ni* ni,
                          struct lnet_msg* message) {
  struct lnet_peer_ni* peer = BPF_CORE_READ(message, msg_txpeer);
  read_header(record, &message->msg_hdr);
  if (ni) bpf_core_read(record->interface, sizeof(record->interface), &ni->ni_nid);
  if (peer) bpf_core_read(record->hop, sizeof(record->hop), &peer->lpni_nid);
}

SEC("kprobe/lnet_parse")
int BPF_KPROBE(on_parse, struct lnet_ni* ni, struct lnet_hdr* header, struct lnet_nid* from) {
  struct lnetdump_probe_record record = {.way = LNETDUMP_PROBE_RECEIVED};
  __u64 thread = bpf_get_current_pid_tgid();
  read_header(&record, header);
  bpf_core_read(record.interface, sizeof(record.interface), &ni->ni_nid);
  bpf_probe_read_kernel(record.hop, sizeof(record.hop), from);
  bpf_map_update_elem(&arriving, &thread, &record, BPF_ANY);
  return 0;
}

static void settle(__u32 way, int status) {
  __u64 thread = bpf_get_current_pid_tgid();
  struct lnetdump_probe_record* record = bpf_map_lookup_elem(&arriving, &thread);
  if (!record) return;
  record->way = way;
  if (status != 0) record->status = status;
  submit(record);
  bpf_map_delete_elem(&arriving, &thread);
}

SEC("kprobe/lnet_ni_recv")
int BPF_KPROBE(on_receive) {
  settle(LNETDUMP_PROBE_RECEIVED, 0);
  return 0;
}

SEC("kprobe/lnet_drop_message")
int BPF_KPROBE(on_drop) {
  settle(LNETDUMP_PROBE_RECEIVED_DROPPED, 0);
  return 0;
}

SEC("kretprobe/lnet_parse")
int BPF_KRETPROBE(on_parsed, int status) {
  settle(status < 0 ? LNETDUMP_PROBE_REFUSED : LNETDUMP_PROBE_RECEIVED, status);
  return 0;
}

SEC("kprobe/lnet_ni_send")
int BPF_KPROBE(on_send, struct lnet_ni* ni, struct lnet_msg* message) {
  struct lnetdump_probe_record record = {.way = LNETDUMP_PROBE_SENT};
  read_outgoing(&record, ni, message);
  submit(&record);
  return 0;
}

/* The end of a message with an error. In lnet_parse() it comes before the drop and tells its cause.
 * Of an outgoing message that no LND has got, it is the drop. */
SEC("kprobe/lnet_finalize")
int BPF_KPROBE(on_finalize, struct lnet_msg* message, int status) {
  struct lnetdump_probe_record record = {.way = LNETDUMP_PROBE_UNSENT, .status = status};
  struct lnetdump_probe_record* waiting;
  __u64 thread = bpf_get_current_pid_tgid();
  bool unsent;
  if (status >= 0) return 0;
  waiting = bpf_map_lookup_elem(&arriving, &thread);
  if (waiting) {
    waiting->status = status;
    return 0;
  }
  if (BPF_CORE_READ_BITFIELD_PROBED(message, msg_tx_committed))
    unsent = BPF_CORE_READ_BITFIELD_PROBED(message, msg_tx_delayed) ||
             !BPF_CORE_READ_BITFIELD_PROBED(message, msg_txcredit);
  else
    unsent = !BPF_CORE_READ_BITFIELD_PROBED(message, msg_rx_committed);
  if (!unsent) return 0;
  read_outgoing(&record, BPF_CORE_READ(message, msg_txni), message);
  submit(&record);
  return 0;
}

/* The helpers that read kernel memory are for programs under such a license only. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

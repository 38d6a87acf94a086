// SPDX-License-Identifier: BSD-3-Clause
// Counters of the TCP driver: the fate of connections, and each system call by its kind.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::drivers {

#define PLNET_TCP_COUNTERS(X)                                                                      \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                           \
  X(kAccepts, "accepts", "connections", kCount, "incoming connections")                            \
  X(kFailedConnects, "failed_connects", "connections", kCount, "attempts that failed")             \
  X(kOpen, "open", "connections", kGauge, "streams that have an id now")                           \
  X(kBytesWritten, "bytes_written", "bytes", kCount, "bytes taken by write()")                     \
  X(kBytesRead, "bytes_read", "bytes", kCount, "bytes handed to the LND")                          \
  X(kBytesStaged, "bytes_staged", "bytes", kCount, "of these, by way of the staging buffer")       \
  X(kWrites, "writes", "calls", kCount, "calls of write()")                                        \
  X(kShortWrites, "short_writes", "calls", kCount, "writes that took less than offered")           \
  X(kRemainders, "remainders", "calls", kCount, "reads of which staged bytes were left over")      \
  X(kResets, "resets", "connections", kCount, "connections broken by the peer or the network")     \
  X(kTimeouts, "timeouts", "connections", kCount, "connections whose peer went silent")            \
  X(kStaleCalls, "stale_calls", "calls", kCount, "calls for a stream that has closed; ignored")    \
  X(kStaleEvents, "stale_events", "events", kCount, "readiness of a stream that has closed")       \
  X(kPollWork, "poll_work", "events", kCount, "pieces of work done by poll()")                     \
  X(kPortTries, "port_tries", "ports", kCount, "privileged source ports tried")                    \
  X(kPortsExhausted, "ports_exhausted", "connections", kCount,                                     \
    "attempts for which no privileged source port was left")                                       \
  X(kOptionFailures, "option_failures", "calls", kCount, "socket options that the system refused") \
  X(kAcceptFailures, "accept_failures", "calls", kCount,                                           \
    "accepts that failed for want of descriptors or memory; tried again later")                    \
  X(kAcceptsAborted, "accepts_aborted", "connections", kCount,                                     \
    "incoming connections that were gone before they were accepted")                               \
  X(kAcceptsRefused, "accepts_refused", "connections", kCount,                                     \
    "incoming connections reset because all streams are in use")                                   \
  X(kPause, "pause_ns", "ns", kGauge,                                                              \
    "that sockets are left alone after a read, so that small messages come together")              \
  X(kEpollWaits, "epoll_waits", "calls", kCount, "system calls: looks at the readiness set")       \
  X(kReads, "reads", "calls", kCount, "system calls: reads, those that found nothing included")    \
  X(kEmptyReads, "empty_reads", "calls", kCount, "of these, those that found nothing")             \
  X(kSends, "sends", "calls", kCount, "system calls: sends")                                       \
  X(kPiecesSent, "pieces_sent", "pieces", kCount, "pieces handed to these sends")                  \
  X(kQuickAcks, "quick_acks", "calls", kCount, "system calls: acknowledge what was read, now")     \
  X(kAwaits, "awaits", "payloads", kCount, "that were let come together in their socket")          \
  X(kBytesRelayed, "bytes_relayed", "bytes", kCount, "from socket to socket, past our memory")     \
  X(kLowWaters, "low_waters", "calls", kCount, "system calls: told how many bytes are awaited")    \
  X(kSplices, "splices", "calls", kCount, "system calls: handed on from socket to socket")         \
  X(kSharedAcks, "shared_acks", "calls", kCount,                                                   \
    "system calls: let acknowledgements wait for one another")                                     \
  X(kAcceptCalls, "accept_calls", "calls", kCount, "system calls: accepts")

PLNET_COUNTERS(TcpTable, PLNET_TCP_COUNTERS);
using TcpStats = Counters<TcpTable>;

}  // namespace plnet::drivers

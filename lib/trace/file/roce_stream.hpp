// SPDX-License-Identifier: BSD-3-Clause
// LNet messages of o2iblnd in RoCEv2 packets: SENDs of queue pairs, reassembled from their packets.
// Payloads transferred by RDMA are missing: their messages appear without them. A GET that is
// answered by RDMA ends with GET_DONE, for which a REPLY is synthesised as the LND does. Checked
// against the InfiniBand Architecture Specification 1.3 (BTH) and lustre-release v2_17_0
// lnet/klnds/o2iblnd/o2iblnd-idl.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lib/trace/file/ksock_stream.hpp"
#include "lib/trace/file/link.hpp"

namespace plnet::trace {

inline constexpr std::uint16_t kRocePort = 4791;

class RoceStreams {
 public:
  static constexpr std::size_t kQueuePairsMax = 4096;
  static constexpr std::size_t kGetsMax = 65536;
  static constexpr std::size_t kMessageBytesMax = 4096;  // o2iblnd::kMessageBytes

  explicit RoceStreams(FramedSink& sink) : sink_(sink) {}

  void add(const UdpDatagram& datagram, std::uint64_t time_ns);

 private:
  using Bytes = std::span<const std::byte>;
  struct QueuePair {
    FlowAddress from{};
    FlowAddress to{};
    std::uint32_t number = 0;
    friend auto operator<=>(const QueuePair&, const QueuePair&) = default;
  };
  struct Partial {
    std::vector<std::byte> bytes;
    std::uint64_t time_ns = 0;
  };
  struct Get {
    FlowAddress from{};
    std::uint64_t cookie = 0;
    friend auto operator<=>(const Get&, const Get&) = default;
  };

  void on_send(Bytes message, const UdpDatagram& datagram, std::uint64_t time_ns);
  void on_get_done(Bytes message, bool swapped, const UdpDatagram& datagram, std::uint64_t time_ns);

  FramedSink& sink_;
  std::map<QueuePair, Partial> partial_;
  std::map<Get, lnet::MessageHeader> gets_;
};

}  // namespace plnet::trace

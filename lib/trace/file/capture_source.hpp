// SPDX-License-Identifier: BSD-3-Clause
// Converts packets of a capture file to records of LNet messages: from lnetdump's own files, from
// TCP port 988 and from RoCE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "lib/trace/file/known_nids.hpp"
#include "lib/trace/file/ksock_stream.hpp"
#include "lib/trace/file/link.hpp"
#include "lib/trace/file/packet.hpp"
#include "lib/trace/file/roce_stream.hpp"
#include "lib/trace/file/tcp_stream.hpp"
#include "lib/trace/record/record.hpp"

namespace plnet::trace {

// A record that was read, with the NI that its file names (of type 0: none).
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void on_record(const Record& record, const lnet::Nid& interface) = 0;
};

class CaptureSource : private FramedSink {
 public:
  static constexpr std::size_t kFlowsMax = 4096;
  struct Options {
    std::uint16_t port = 988;
    std::size_t snap_bytes = 65536;  // kept of a payload
    std::vector<lnet::Nid> local;    // messages from elsewhere are RECV; empty: all are SEND
  };

  CaptureSource(RecordSink& sink, Options options)
      : sink_(sink), options_(std::move(options)), roce_(*this) {}

  void add(const Packet& packet);
  void finish();

  // Connections and packets without room, and messages that were searched for anew.
  [[nodiscard]] std::uint64_t losses() const;

 private:
  struct Connection {
    Connection(FramedSink& sink, std::size_t snap_bytes) : messages(sink, snap_bytes) {}
    TcpStream stream;
    KsockStream messages;
  };

  void on_message(const FramedMessage& message) override;
  void on_pdu(const UpperPdu& pdu, const Packet& packet);
  void on_segment(const TcpSegment& segment, const Packet& packet);

  RecordSink& sink_;
  const Options options_;
  RoceStreams roce_;
  std::map<Flow, std::unique_ptr<Connection>> connections_;
  KnownNids nids_;
  std::optional<Direction> direction_;  // of the current packet
  std::uint64_t refused_ = 0;
};

}  // namespace plnet::trace

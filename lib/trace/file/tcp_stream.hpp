// SPDX-License-Identifier: BSD-3-Clause
// Reorders one direction of a TCP connection: bytes, and holes where none were captured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lib/trace/file/link.hpp"

namespace plnet::trace {

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // The bytes begin where the last ones or the last hole ended. `at_segment`: with a segment.
  virtual void on_bytes(std::span<const std::byte> bytes, std::uint64_t time_ns,
                        bool at_segment) = 0;
  virtual void on_hole(std::uint64_t bytes) = 0;
  virtual void on_begin() = 0;  // a new connection on the same ports
};

class TcpStream {
 public:
  // Segments that wait for bytes before them. With more, those bytes count as lost.
  static constexpr std::size_t kWaitingSegmentsMax = 256;
  static constexpr std::size_t kWaitingBytesMax = 4U << 20U;

  void add(const TcpSegment& segment, std::uint64_t time_ns, StreamSink& sink);
  // The end of the capture: delivers the waiting segments.
  void finish(StreamSink& sink);

 private:
  struct Waiting {
    std::vector<std::byte> bytes;
    std::uint64_t length = 0;
    std::uint64_t time_ns = 0;
  };

  [[nodiscard]] std::uint64_t position_of(std::uint32_t sequence) const;
  void deliver(std::uint64_t position, std::span<const std::byte> bytes, std::uint64_t length,
               std::uint64_t time_ns, StreamSink& sink);
  void deliver_waiting(StreamSink& sink);
  void give_up_hole(StreamSink& sink);

  bool started_ = false;
  std::uint64_t next_ = 0;  // position: the sequence number, extended past its wrapping
  std::size_t waiting_bytes_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
};

}  // namespace plnet::trace

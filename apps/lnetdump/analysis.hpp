// SPDX-License-Identifier: BSD-3-Clause
// Summarises a large capture with several threads, in chunks of packets. First each part of the
// connections of a chunk is reassembled separately, then each part of the pairs of nodes is decoded
// and paired separately: requests and replies of two nodes are always in one part. The number of
// parts is fixed and parts are added up in order, so the result does not depend on the number of
// threads. Memory is bounded by the chunks and by the state of each part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/trace/file/capture_source.hpp"
#include "lib/trace/filter/expression.hpp"
#include "lib/trace/show/summary.hpp"

namespace plnet::lnetdump {

struct AnalysisOptions {
  unsigned threads = 0;  // 0: as many as there are CPUs
  std::uint16_t port = 988;
  trace::Expression filter{};
};

class Analysis {
 public:
  static constexpr std::size_t kParts = 64;
  static constexpr std::size_t kSnapBytes = 1024;  // of a payload; nothing decodes more
  static constexpr std::size_t kChunkPackets = 32768;
  static constexpr std::size_t kChunkBytes = std::size_t{16} << 20U;
  static constexpr std::size_t kExchangesMax = 8192;  // under way, of each part

  explicit Analysis(const AnalysisOptions& options);
  ~Analysis();
  Analysis(const Analysis&) = delete;
  Analysis& operator=(const Analysis&) = delete;

  // Copies the packet.
  void add(const trace::Packet& packet);
  // The file has ended; another one may begin.
  void end_file();
  // Call once.
  [[nodiscard]] trace::Summary finish();
  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  [[nodiscard]] std::uint64_t losses() const { return losses_; }

 private:
  struct Chunk;
  struct Connections;
  struct Nodes;
  struct Threads;

  void hand_over();
  void process(Chunk& chunk);

  const AnalysisOptions options_;
  std::unique_ptr<Threads> threads_;
  std::unique_ptr<Chunk> filling_;
  std::unique_ptr<Chunk> processing_;
  std::vector<std::unique_ptr<Connections>> connections_;
  std::vector<std::unique_ptr<Nodes>> nodes_;
  std::uint64_t packets_ = 0;
  std::uint64_t losses_ = 0;
};

}  // namespace plnet::lnetdump

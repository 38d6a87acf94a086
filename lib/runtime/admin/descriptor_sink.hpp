// SPDX-License-Identifier: BSD-3-Clause
// A sink of spdlog for a descriptor whose reader may stall, such as a pipe. It never waits: lines
// that cannot be written yet are kept up to a limit; lines beyond it are counted and dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

namespace plnet::runtime {

class DescriptorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // Some thousand lines: what a node writes while a terminal is paused for a minute.
  static constexpr std::size_t kKeptBytesMax = std::size_t{1} << 20U;

  // The descriptor outlives the sink. It stays in blocking mode, since other processes may share
  // it.
  explicit DescriptorSink(int descriptor) : descriptor_(descriptor) {}

  // Writes kept lines while the descriptor takes them.
  void write_kept();
  // Lines dropped since the start.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // True when no line waits for the reader.
  [[nodiscard]] bool has_written_all() const { return kept_.empty(); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  // Bytes written of `text`; 0: the descriptor takes none now.
  [[nodiscard]] std::size_t write_some(std::string_view text) const;

  const int descriptor_;
  std::deque<std::string> kept_;  // the first may be the rest of a line
  std::size_t kept_bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace plnet::runtime

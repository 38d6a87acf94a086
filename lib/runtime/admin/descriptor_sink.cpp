// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/descriptor_sink.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <poll.h>
#include <unistd.h>

namespace plnet::runtime {

// poll() promises room for PIPE_BUF bytes, so that a write of so many does not block.
std::size_t DescriptorSink::write_some(std::string_view text) const {
  pollfd ready{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) <= 0) return 0;
  const ssize_t written =
      ::write(descriptor_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
  if (written >= 0) return static_cast<std::size_t>(written);
  // Without a reader (EPIPE) or a terminal (EIO) the text is lost.
  return errno == EAGAIN || errno == EINTR ? 0 : text.size();
}

void DescriptorSink::write_kept() {
  while (!kept_.empty()) {
    std::string& line = kept_.front();
    const std::size_t written = write_some(line);
    if (written == 0) return;
    kept_bytes_ -= written;
    line.erase(0, written);
    if (line.empty()) kept_.pop_front();
  }
}

void DescriptorSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  write_kept();
  if (kept_bytes_ + formatted.size() > kKeptBytesMax) {
    ++dropped_;
    return;
  }
  kept_.emplace_back(formatted.data(), formatted.size());
  kept_bytes_ += formatted.size();
  write_kept();
}

}  // namespace plnet::runtime

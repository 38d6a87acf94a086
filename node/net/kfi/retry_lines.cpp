// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/retry_lines.hpp"

#include <algorithm>

namespace plnet::node {
namespace {

constexpr runtime::LogSite kRetryHandler{
    runtime::LogLevel::kWarning, "retry_handler", {"interface", "text"}};

}  // namespace

void KfiRetryLines::line(std::string_view text) {
  counters_.add(Id::kTold);
  Line line;
  line.length = static_cast<std::uint8_t>(std::min(text.size(), line.text.size()));
  std::ranges::copy(text.substr(0, line.length), line.text.begin());
  if (!waiting_.push(line)) counters_.add(Id::kUnheard);
}

void KfiRetryLines::say(const std::string& interface, runtime::Log& log) {
  Line line;
  for (std::size_t i = 0; i < kWaitingMax && waiting_.pop(line); ++i)
    log.write(kRetryHandler, {interface, {line.text.data(), line.length}});
}

}  // namespace plnet::node

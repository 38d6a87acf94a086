// SPDX-License-Identifier: BSD-3-Clause
// The commands to the NIC and the events from it, for the output of a failed test.
#pragma once

#include <deque>
#include <string>

#include "drivers/net/cassini/trace.hpp"

namespace plnet::cassini {

class WordLog final : public Tracer {
 public:
  void command(unsigned queue, std::span<const std::uint64_t> words) override {
    add("> " + words_of_command(queue >= 1024, words));
  }
  void event(unsigned /*queue*/, const Event& event) override { add("< " + words_of_event(event)); }
  [[nodiscard]] std::string lines() const {
    std::string all;
    for (const std::string& line : lines_)
      all += line + '\n';
    return all;
  }

 private:
  static constexpr std::size_t kLinesMax = 200;  // the last ones explain a failure
  void add(std::string line) {
    lines_.push_back(std::move(line));
    if (lines_.size() > kLinesMax) lines_.pop_front();
  }
  std::deque<std::string> lines_;
};

}  // namespace plnet::cassini

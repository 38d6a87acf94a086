// SPDX-License-Identifier: BSD-3-Clause
// The progress display of a run. On a terminal the last line is updated; elsewhere each repeat is a
// line when it has ended.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "apps/lnet-selftest/run/conductor.hpp"

namespace plnet::run {

class LiveTable final : public Watcher {
 public:
  // The file outlives the table.
  LiveTable(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}

  void on_begin(const Point& point, unsigned repeat, std::size_t number,
                std::size_t total) override;
  void on_sample(double throughput_mibps, double rpc_rate, bool warming_up) override;
  void on_end(const Measurement& measurement) override;

 private:
  void show(const std::string& line);
  void put(const std::string& text);

  std::FILE* out_;
  const bool is_terminal_;
  bool head_shown_ = false;
  std::string what_;
};

}  // namespace plnet::run

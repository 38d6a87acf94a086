// SPDX-License-Identifier: BSD-3-Clause
// Sequence charts: a lifeline for each node, an arrow for each message. As text for terminals, as
// Mermaid for documents, as a page of HTML that needs nothing else and has a time axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/trace/show/sighting.hpp"

namespace plnet::trace {

class Chart {
 public:
  // Beyond these a chart is unreadable; omitted messages are counted.
  static constexpr std::size_t kArrowsMax = 2000;
  static constexpr std::size_t kNodesMax = 32;

  void add(const Sighting& sighting);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string mermaid() const;
  [[nodiscard]] std::string html() const;
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Arrow {
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint64_t time_ns = 0;
    Role role = Role::kNone;
    bool dropped = false;
    bool failed = false;
    std::uint64_t exchange = 0;  // 0: unknown
    std::string label;
  };
  [[nodiscard]] std::size_t node(const lnet::Nid& nid);

  std::vector<lnet::Nid> nodes_;
  std::vector<Arrow> arrows_;
  std::uint64_t left_out_ = 0;
};

}  // namespace plnet::trace

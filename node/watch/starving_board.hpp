// SPDX-License-Identifier: BSD-3-Clause
// Resources that are scarce now, on any shard, for `status` and `routing show`: the log has
// reported them and not yet their end. Owned by the admin thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/lnet/node/node_report.hpp"

namespace plnet::node {

class StarvingBoard {
 public:
  void set(lnet::StarvingReport report) {
    std::pair key{report.shard, report.of};
    lines_.insert_or_assign(std::move(key), std::move(report));
  }
  void erase(unsigned shard, const std::string& of) { lines_.erase({shard, of}); }
  void clear() { lines_.clear(); }
  [[nodiscard]] std::vector<lnet::StarvingReport> list() const {
    std::vector<lnet::StarvingReport> list;
    list.reserve(lines_.size());
    for (const auto& [key, report] : lines_)
      list.push_back(report);
    return list;
  }

 private:
  std::map<std::pair<unsigned, std::string>, lnet::StarvingReport> lines_;
};

}  // namespace plnet::node

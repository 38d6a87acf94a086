// SPDX-License-Identifier: BSD-3-Clause
// The report of messages: the records of each shard, in bounded pieces.
#pragma once

#include <cstdint>

#include "lib/lnet/node/messages_report.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::node {

class MessageTally {
 public:
  static constexpr std::uint32_t kRecordsAtOnce = 1024;

  // Called on one shard after the other. True: this shard has more records.
  [[nodiscard]] bool count(lnet::Node& node, unsigned shard);

  [[nodiscard]] lnet::MessagesReport& report() { return report_; }

 private:
  void add_waits(const CounterView& counters);
  void add(const lnet::ShardCore& core, const lnet::Receive& receive);
  void add(const lnet::ShardCore& core, const lnet::Message& message);
  void keep(const lnet::StandingMessage& standing);

  lnet::MessagesReport report_;
  std::uint32_t next_ = 0;  // the first record of the next piece
};

}  // namespace plnet::node

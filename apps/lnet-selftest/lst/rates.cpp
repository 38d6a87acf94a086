// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/rates.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plnet::lst {
namespace {

using selftest::NodeResult;
using selftest::StatSeen;

const StatSeen* stat_of(const NodeResult& node) {
  return node.rpc_errno == 0 && !node.refused ? std::get_if<StatSeen>(&node.seen) : nullptr;
}

class Sum {
 public:
  void add(float value) {
    total_ += value;
    if (least_ > value || least_ == 0) least_ = value;
    most_ = std::max(most_, value);
    ++count_;
  }
  [[nodiscard]] Spread spread() const {
    if (count_ == 0) return {};
    return {total_ / static_cast<float>(count_), least_, most_};
  }

 private:
  float total_ = 0;
  float least_ = 0;
  float most_ = 0;
  std::uint32_t count_ = 0;
};

std::string line(const Spread& spread, const RateColumns& columns, bool bytes) {
  const char* const unit = !bytes ? "RPC/s" : (columns.decimal ? "MB/s  " : "MiB/s ");
  const auto item = [&](const char* what, float value) {
    return bytes ? fmt::format("{}: {:<8.2f} {}", what, value, unit)
                 : fmt::format("{}: {:<8.0f} {}", what, value, unit);
  };
  std::string text;
  // Rates have a blank between the columns, bandwidths within the unit.
  if (columns.average) text += item("Avg", spread.average) + (bytes ? "" : " ");
  if (columns.least) text += item("Min", spread.least) + (bytes ? "" : " ");
  if (columns.most) text += item("Max", spread.most);
  return text + '\n';
}

}  // namespace

Rates rates_between(const selftest::TransactionResult& before,
                    const selftest::TransactionResult& after, bool decimal) {
  const float unit = decimal ? 1'000'000.0F : 1'048'576.0F;
  Rates rates;
  Sum received;
  Sum sent;
  Sum received_bytes;
  Sum sent_bytes;
  rates.changed = before.nodes.size() < after.nodes.size();
  const std::size_t both = std::min(before.nodes.size(), after.nodes.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (before.nodes[i].id != after.nodes[i].id) {
      rates.changed = true;
      break;
    }
    const StatSeen* const old_one = stat_of(before.nodes[i]);
    const StatSeen* const new_one = stat_of(after.nodes[i]);
    if (old_one == nullptr || new_one == nullptr) {
      ++rates.failed;
      continue;
    }
    const std::uint32_t elapsed_ms = new_one->framework.running_ms - old_one->framework.running_ms;
    // The session restarted in between, or the node made no turn: the rate is unknown.
    if (elapsed_ms == 0) {
      ++rates.failed;
      continue;
    }
    const float seconds = static_cast<float>(elapsed_ms) / 1000.0F;
    const auto& now = new_one->lnet;
    const auto& then = old_one->lnet;
    ++rates.nodes;
    received.add(static_cast<float>(now.receive_count - then.receive_count) / seconds);
    sent.add(static_cast<float>(now.send_count - then.send_count) / seconds);
    received_bytes.add(static_cast<float>(now.receive_length - then.receive_length) / unit /
                       seconds);
    sent_bytes.add(static_cast<float>(now.send_length - then.send_length) / unit / seconds);
  }
  rates.received = received.spread();
  rates.sent = sent.spread();
  rates.received_bytes = received_bytes.spread();
  rates.sent_bytes = sent_bytes.spread();
  return rates;
}

std::string text_of_rates(const Rates& rates, const RateColumns& columns, std::string_view name) {
  if (rates.nodes == 0) return {};
  std::string text;
  const auto block = [&](const char* what, const Spread& received, const Spread& sent, bool bytes) {
    text += fmt::format("[LNet {} of {}]\n", what, name);
    if (columns.received) text += "[R] " + line(received, columns, bytes);
    if (columns.sent) text += "[W] " + line(sent, columns, bytes);
  };
  if (columns.rates) block("Rates", rates.received, rates.sent, false);
  if (columns.bandwidth) block("Bandwidth", rates.received_bytes, rates.sent_bytes, true);
  return text;
}

}  // namespace plnet::lst

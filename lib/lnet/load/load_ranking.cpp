// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/load/load_ranking.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lnet {

namespace {

std::string text_of_key(const Nid& nid) {
  return text_of(nid);
}
std::string text_of_key(const NetPair& pair) {
  return fmt::format("{} -> {}", text_of_net(pair.from), text_of_net(pair.to));
}
std::string text_of_key(std::uint32_t portal) {
  return portal == kNoPortal ? "none" : fmt::format("{}", portal);
}

// The sum over all shards and windows.
template <class More>
using Sums = std::map<std::string, Talker<NothingMore, More>>;

template <class Key, class More>
Sums<More> added_up(const std::vector<Talker<Key, More>>& talkers) {
  Sums<More> all;
  for (const auto& talker : talkers) {
    auto& sum = all[text_of_key(talker.key)];
    sum.messages += talker.messages;
    sum.bytes += talker.bytes;
    sum.error += talker.error;
    if constexpr (requires { sum.more.merge(talker.more); }) sum.more.merge(talker.more);
  }
  return all;
}

std::optional<HopDelay> delay_of(const NothingMore& /*nothing*/) {
  return std::nullopt;
}
std::optional<HopDelay> delay_of(const HopTimes& times) {
  return HopDelay{.p50 = times.percentile(50),
                  .p90 = times.percentile(90),
                  .p99 = times.percentile(99),
                  .max = times.percentile(100)};
}

template <class More>
std::vector<LoadRow> rows_of(const Sums<More>& sums, Duration covered, std::size_t rows) {
  std::vector<std::pair<std::string, Talker<NothingMore, More>>> order(sums.begin(), sums.end());
  const auto weight = [](const auto& each) {
    return std::pair(each.second.messages - each.second.error, each.second.bytes);
  };
  std::ranges::sort(order, [&weight](const auto& a, const auto& b) {
    return weight(a) != weight(b) ? weight(a) > weight(b) : a.first < b.first;
  });
  if (order.size() > rows) order.resize(rows);
  const double seconds = std::max(std::chrono::duration<double>(covered).count(), 1.0);
  const auto rate = [seconds](std::uint64_t count) {
    return static_cast<std::uint64_t>(static_cast<double>(count) / seconds);
  };
  std::vector<LoadRow> result;
  result.reserve(order.size());
  for (const auto& [name, sum] : order) {
    result.push_back({.name = name,
                      .messages = rate(sum.messages),
                      .bytes = rate(sum.bytes),
                      .doubtful = rate(sum.error),
                      .delay = delay_of(sum.more)});
  }
  return result;
}

}  // namespace

std::string_view name_of(LoadBy by) {
  switch (by) {
    case LoadBy::kNid: return "nid";
    case LoadBy::kNet: return "net";
    case LoadBy::kPortal: return "portal";
    case LoadBy::kHop: return "hop";
  }
  return "";
}

std::vector<LoadRow> heaviest(const LoadSnapshot& snapshot, LoadBy by, std::size_t rows) {
  switch (by) {
    case LoadBy::kNid: return rows_of(added_up(snapshot.nids), snapshot.covered, rows);
    case LoadBy::kNet: return rows_of(added_up(snapshot.nets), snapshot.covered, rows);
    case LoadBy::kPortal: return rows_of(added_up(snapshot.portals), snapshot.covered, rows);
    case LoadBy::kHop: return rows_of(added_up(snapshot.hops), snapshot.covered, rows);
  }
  return {};
}

std::map<std::string, HopTimes> times_of_all_hops(const LoadSnapshot& snapshot) {
  std::map<std::string, HopTimes> times;
  for (const auto& [name, sum] : added_up(snapshot.hops_of_all_time))
    times.emplace(name, sum.more);
  return times;
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/summary.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/show/words.hpp"

namespace plnet::trace {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kOthers = "others";
constexpr std::array kPercents = std::to_array<double>({50, 90, 99});

template <class Table>
std::vector<typename Table::const_iterator> by_size(const Table& table, auto&& size) {
  std::vector<typename Table::const_iterator> rows;
  for (auto row = table.begin(); row != table.end(); ++row)
    rows.push_back(row);
  std::ranges::sort(rows, [&](auto left, auto right) {
    const auto one = size(left->second);
    const auto other = size(right->second);
    return one != other ? one > other : left->first < right->first;
  });
  return rows;
}

std::string label(std::string_view text) {
  std::string out;
  for (const char letter : printable(text)) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace

HistogramSnapshot Summary::Latencies::times() const {
  HistogramSnapshot all;
  own->snapshot(all);
  if (merged != nullptr) all.merge(*merged);
  return all;
}

void Summary::Count::add(const Count& other) {
  messages += other.messages;
  bytes += other.bytes;
  dropped += other.dropped;
}

template <class Row>
Row& Summary::row(Named<Row>& table, std::string name) {
  const auto found = table.find(name);
  if (found != table.end()) return found->second;
  return table[table.size() < kRowsMax ? std::move(name) : kOthers];
}

template <class Key, class Row>
Row& Summary::row(Known<Key, Row>& known, const Key& key, Named<Row>& table, auto&& name) {
  const auto found = known.find(key);
  if (found != known.end()) return *found->second;
  Row& named = row(table, name());
  if (known.size() < kRowsMax) known.emplace(key, &named);
  return named;
}

void Summary::add(const Message& message) {
  const RecordHeader& record = message.record.header;
  const Count one{1, record.payload_length, record.direction == Direction::kDropped ? 1ULL : 0ULL};
  total_.add(one);
  first_ns_ = std::min(first_ns_, record.time_ns);
  last_ns_ = std::max(last_ns_, record.time_ns);
  row(known_pairs_, Pair{record.source, record.destination}, pairs_, [&] {
    return lnet::text_of(record.source) + " > " + lnet::text_of(record.destination);
  }).add(one);
  const auto portal = message.record.portal();
  const Kind kind{
      .kind = record.type, .portal = portal.value_or(0), .has_portal = portal ? 1U : 0U};
  row(known_portals_, kind, portals_, [&] {
    return name_or_number(message_type_names(), record.type) +
           (portal ? " " + name_or_number(portal_names(), *portal) : "");
  }).add(one);
}

void Summary::on_exchange(const Exchange& exchange) {
  const Kind kind{.kind = static_cast<std::uint32_t>(exchange.kind),
                  .number = exchange.operation,
                  .portal = exchange.portal};
  Latencies& latencies =
      row(known_operations_, kind, operations_, [&] { return operation_text(exchange); });
  ++latencies.requests;
  latencies.resends += exchange.resends;
  latencies.bulk_bytes += exchange.bulk_bytes;
  if (!exchange.is_answered()) return;
  ++latencies.answered;
  if (exchange.status.value_or(0) != 0) ++latencies.failed;
  latencies.own->record(exchange.latency_ns());
}

void Summary::merge(const Summary& other) {
  total_.add(other.total_);
  first_ns_ = std::min(first_ns_, other.first_ns_);
  last_ns_ = std::max(last_ns_, other.last_ns_);
  for (const auto& [name, count] : other.pairs_)
    row(pairs_, name).add(count);
  for (const auto& [name, count] : other.portals_)
    row(portals_, name).add(count);
  for (const auto& [name, theirs] : other.operations_) {
    Latencies& ours = row(operations_, name);
    ours.requests += theirs.requests;
    ours.answered += theirs.answered;
    ours.failed += theirs.failed;
    ours.resends += theirs.resends;
    ours.bulk_bytes += theirs.bulk_bytes;
    if (ours.merged == nullptr) ours.merged = std::make_unique<HistogramSnapshot>();
    ours.merged->merge(theirs.times());
  }
}

double Summary::seconds() const {
  return total_.messages == 0 ? 0 : static_cast<double>(last_ns_ - first_ns_) / 1e9;
}

std::string Summary::text() const {
  const double time = seconds();
  const auto rate = [&](std::uint64_t count) {
    return time > 0 ? fmt::format("{:.1f}/s", static_cast<double>(count) / time) : std::string("-");
  };
  std::string out = fmt::format("{}, {} of payload, {:.3f} s, {} messages, {} dropped\n",
                                counted(total_.messages, "message"), size_text(total_.bytes), time,
                                rate(total_.messages), total_.dropped);
  const auto table = [&](std::string_view title, const Table& rows) {
    out += fmt::format("\n{:44} {:>10} {:>12} {:>10} {:>8}\n", title, "messages", "payload", "rate",
                       "dropped");
    for (const auto row : by_size(rows, [](const Count& count) { return count.messages; })) {
      const Count& count = row->second;
      out += fmt::format("{:44} {:>10} {:>12} {:>10} {:>8}\n", row->first, count.messages,
                         size_text(count.bytes), rate(count.messages), count.dropped);
    }
  };
  table("from > to", pairs_);
  table("type and portal", portals_);
  if (operations_.empty()) return out;
  out += fmt::format("\n{:32} {:>8} {:>8} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "operation",
                     "requests", "answers", "failed", "resent", "bulk", "p50", "p90", "p99", "max");
  for (const auto row :
       by_size(operations_, [](const Latencies& latencies) { return latencies.requests; })) {
    const Latencies& one = row->second;
    out += fmt::format("{:32} {:>8} {:>8} {:>6} {:>6} {:>9}", row->first, one.requests,
                       one.answered, one.failed, one.resends, size_text(one.bulk_bytes));
    const HistogramSnapshot times = one.times();
    for (const double percent : kPercents)
      out += fmt::format(" {:>9}", duration_text(times.percentile(percent)));
    out += fmt::format(" {:>9}\n", duration_text(times.max()));
  }
  return out;
}

std::string Summary::json() const {
  const auto table = [](const Table& rows) {
    Json json = Json::array();
    for (const auto row : by_size(rows, [](const Count& count) { return count.messages; })) {
      json.push_back({{"name", row->first},
                      {"messages", row->second.messages},
                      {"bytes", row->second.bytes},
                      {"dropped", row->second.dropped}});
    }
    return json;
  };
  Json json{{"messages", total_.messages}, {"bytes", total_.bytes},  {"dropped", total_.dropped},
            {"seconds", seconds()},        {"pairs", table(pairs_)}, {"portals", table(portals_)},
            {"operations", Json::array()}};
  for (const auto row :
       by_size(operations_, [](const Latencies& latencies) { return latencies.requests; })) {
    const Latencies& one = row->second;
    const HistogramSnapshot times = one.times();
    json["operations"].push_back({{"name", row->first},
                                  {"requests", one.requests},
                                  {"answered", one.answered},
                                  {"failed", one.failed},
                                  {"resent", one.resends},
                                  {"bulk_bytes", one.bulk_bytes},
                                  {"p50_ns", times.percentile(50)},
                                  {"p90_ns", times.percentile(90)},
                                  {"p99_ns", times.percentile(99)},
                                  {"max_ns", times.max()}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Summary::metrics() const {
  std::string out =
      "# HELP lnetdump_messages Messages by type and portal.\n# TYPE lnetdump_messages counter\n";
  for (const auto& [name, count] : portals_)
    out += fmt::format("lnetdump_messages{{kind=\"{}\"}} {}\n", label(name), count.messages);
  out += "# HELP lnetdump_payload_bytes Payload by nodes.\n# TYPE lnetdump_payload_bytes counter\n";
  for (const auto& [name, count] : pairs_)
    out += fmt::format("lnetdump_payload_bytes{{nodes=\"{}\"}} {}\n", label(name), count.bytes);
  out +=
      "# HELP lnetdump_latency_seconds Time from request to reply.\n"
      "# TYPE lnetdump_latency_seconds summary\n";
  for (const auto& [name, one] : operations_) {
    const HistogramSnapshot times = one.times();
    for (const double percent : kPercents) {
      out += fmt::format("lnetdump_latency_seconds{{operation=\"{}\",quantile=\"{}\"}} {:.9f}\n",
                         label(name), percent / 100,
                         static_cast<double>(times.percentile(percent)) / 1e9);
    }
    out += fmt::format("lnetdump_latency_seconds_count{{operation=\"{}\"}} {}\n", label(name),
                       one.answered);
    out += fmt::format("lnetdump_latency_seconds_sum{{operation=\"{}\"}} {:.9f}\n", label(name),
                       static_cast<double>(times.sum()) / 1e9);
  }
  return out;
}

}  // namespace plnet::trace

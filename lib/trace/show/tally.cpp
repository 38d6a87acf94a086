// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/tally.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"

namespace plnet::trace {

namespace {

constexpr double kNsPerUs = 1000;
constexpr std::size_t kTextMax = 256;

double seconds(const Tally& tally) {
  if (tally.last_ns <= tally.first_ns) return 0;
  return static_cast<double>(tally.last_ns - tally.first_ns) / static_cast<double>(kNsPerSecond);
}

double per_second(double amount, const Tally& tally) {
  const double time = seconds(tally);
  return time > 0 ? amount / time : 0;
}

HistogramSnapshot latencies(const Tally& tally) {
  HistogramSnapshot all;
  tally.latencies_ns.snapshot(all);
  return all;
}

template <std::uint64_t Tally::* kMember>
double number_of(const Tally& tally) {
  return static_cast<double>(tally.*kMember);
}

template <int kPercent>
double percentile(const Tally& tally) {
  return static_cast<double>(latencies(tally).percentile(kPercent)) / kNsPerUs;
}

enum class Unit : std::uint8_t { kCount, kBytes, kTime };

struct Quantity {
  std::string_view name;
  Unit unit = Unit::kCount;
  double (*of)(const Tally& tally) = nullptr;
};

const std::array kQuantities = std::to_array<Quantity>({
    {"count", Unit::kCount, number_of<&Tally::count>},
    {"bytes", Unit::kBytes, number_of<&Tally::bytes>},
    {"bulk_bytes", Unit::kBytes, number_of<&Tally::bulk_bytes>},
    {"requests", Unit::kCount, number_of<&Tally::requests>},
    {"replies", Unit::kCount, number_of<&Tally::replies>},
    {"errors", Unit::kCount, number_of<&Tally::errors>},
    {"drops", Unit::kCount, number_of<&Tally::drops>},
    {"resends", Unit::kCount, number_of<&Tally::resends>},
    {"seconds", Unit::kCount, seconds},
    {"rate", Unit::kCount,
     [](const Tally& tally) { return per_second(static_cast<double>(tally.count), tally); }},
    {"byte_rate", Unit::kBytes,
     [](const Tally& tally) { return per_second(static_cast<double>(tally.bytes), tally); }},
    {"latency_mean", Unit::kTime,
     [](const Tally& tally) { return latencies(tally).mean() / kNsPerUs; }},
    {"latency_p50", Unit::kTime, percentile<50>},
    {"latency_p90", Unit::kTime, percentile<90>},
    {"latency_p99", Unit::kTime, percentile<99>},
    {"latency_max", Unit::kTime,
     [](const Tally& tally) { return static_cast<double>(latencies(tally).max()) / kNsPerUs; }},
});

struct Sign {
  std::string_view text;
  Comparison comparison;
};
// Longer ones first.
constexpr std::array kSigns = std::to_array<Sign>({{"==", Comparison::kEqual},
                                                   {"!=", Comparison::kNotEqual},
                                                   {"<=", Comparison::kLessOrEqual},
                                                   {">=", Comparison::kGreaterOrEqual},
                                                   {"=", Comparison::kEqual},
                                                   {"<", Comparison::kLess},
                                                   {">", Comparison::kGreater}});

struct Factor {
  std::string_view suffix;
  Unit unit;
  double factor;
};
constexpr std::array kFactors = std::to_array<Factor>({{"us", Unit::kTime, 1},
                                                       {"ms", Unit::kTime, 1e3},
                                                       {"s", Unit::kTime, 1e6},
                                                       {"K", Unit::kBytes, 1024},
                                                       {"M", Unit::kBytes, 1048576},
                                                       {"G", Unit::kBytes, 1073741824}});

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return text;
}

std::optional<double> number_in(std::string_view text, Unit unit) {
  double factor = 1;
  for (const Factor& each : kFactors) {
    if (each.unit != unit || !text.ends_with(each.suffix)) continue;
    text.remove_suffix(each.suffix.size());
    factor = each.factor;
    break;
  }
  const auto number = whole_number<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return *number * factor;
}

}  // namespace

void Tally::add(const Sighting& sighting) {
  const RecordHeader& record = sighting.record();
  const Message& message = sighting.message;
  ++count;
  bytes += record.payload_length;
  if (record.direction == Direction::kDropped) ++drops;
  if (sighting.paired.role == Role::kBulk) bulk_bytes += record.payload_length;
  if (message.is_request()) ++requests;
  if (message.is_reply()) {
    ++replies;
    if (message.status().value_or(0) != 0) ++errors;
  }
  const Rpc* const rpc = message.rpc();
  const auto flags = rpc == nullptr ? std::nullopt : rpc->get(&RpcBodyWire::flags);
  if (message.is_request() && (flags.value_or(0) & kRpcResent) != 0) ++resends;
  first_ns = std::min(first_ns, record.time_ns);
  last_ns = std::max(last_ns, record.time_ns);
  if (sighting.paired.latency_ns) latencies_ns.record(*sighting.paired.latency_ns);
}

std::string Assertion::names() {
  std::string names;
  for (const Quantity& quantity : kQuantities)
    names += (names.empty() ? "" : ", ") + std::string(quantity.name);
  return names;
}

Outcome<Assertion> Assertion::parse(std::string_view text) {
  const std::size_t at = text.find_first_of("=!<>");
  if (at == std::string_view::npos || text.size() > kTextMax) {
    return failure(Errc::kInvalid,
                   fmt::format("assertion '{}': expected NAME OPERATOR NUMBER, as in count=4",
                               text.substr(0, kTextMax)));
  }
  const std::string_view name = trimmed(text.substr(0, at));
  const auto quantity = std::ranges::find(kQuantities, name, &Quantity::name);
  if (quantity == kQuantities.end()) {
    return failure(Errc::kInvalid,
                   fmt::format("assertion '{}': '{}' is not one of {}", text, name, names()));
  }
  const auto sign = std::ranges::find_if(
      kSigns, [&](const Sign& each) { return text.substr(at).starts_with(each.text); });
  if (sign == kSigns.end()) {
    return failure(Errc::kInvalid,
                   fmt::format("assertion '{}': expected =, !=, <, <=, > or >=", text));
  }
  const auto wanted = number_in(trimmed(text.substr(at + sign->text.size())), quantity->unit);
  if (!wanted) {
    return failure(Errc::kInvalid,
                   fmt::format("assertion '{}': expected a number behind '{}'; latencies may end "
                               "with us, ms or s, bytes with K, M or G",
                               text, sign->text));
  }
  Assertion assertion;
  assertion.text_ = text;
  assertion.quantity_ = static_cast<std::size_t>(quantity - kQuantities.begin());
  assertion.comparison_ = sign->comparison;
  assertion.wanted_ = *wanted;
  return assertion;
}

double Assertion::value(const Tally& tally) const {
  return kQuantities[quantity_].of(tally);
}

bool Assertion::holds(const Tally& tally) const {
  const double is = value(tally);
  switch (comparison_) {
    case Comparison::kEqual: return is == wanted_;
    case Comparison::kNotEqual: return is != wanted_;
    case Comparison::kLess: return is < wanted_;
    case Comparison::kLessOrEqual: return is <= wanted_;
    case Comparison::kGreater: return is > wanted_;
    case Comparison::kGreaterOrEqual: return is >= wanted_;
  }
  return false;
}

}  // namespace plnet::trace

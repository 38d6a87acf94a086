// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/metrics.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include "lib/base/check.hpp"
#include "lib/runtime/admin/metric_families.hpp"

namespace plnet::runtime {
namespace {

struct UnitRow {
  std::string_view unit;
  std::string_view suffix;  // Prometheus requires base units
  double scale;
};
constexpr auto kUnits = std::to_array<UnitRow>({{"ns", "seconds", 1e-9},
                                                {"nsec", "seconds", 1e-9},
                                                {"us", "seconds", 1e-6},
                                                {"usec", "seconds", 1e-6},
                                                {"ms", "seconds", 1e-3},
                                                {"s", "seconds", 1},
                                                {"KiB", "bytes", 1024},
                                                {"MiB", "bytes", 1024.0 * 1024}});

UnitRow prometheus_unit(std::string_view unit) {
  for (const UnitRow& row : kUnits) {
    if (row.unit == unit) return row;
  }
  return {unit, unit, 1};
}

bool ends_with_word(std::string_view name, std::string_view word) {
  if (!name.ends_with(word)) return false;
  return name.size() == word.size() || name[name.size() - word.size() - 1] == '_';
}

// Names that contain their unit (hops_in, turns_with_work) do not get it a second time.
bool has_word(std::string_view name, std::string_view word) {
  return ends_with_word(name, word) || name.starts_with(std::string(word) + '_') ||
         name.find('_' + std::string(word) + '_') != std::string_view::npos;
}

// Prometheus allows [a-zA-Z0-9_:]; anything else in a unit or an object becomes an underscore.
void append_word(std::string& name, std::string_view word) {
  for (const char c : word) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    name += fine ? c : '_';
  }
}

}  // namespace

MetricName prometheus_name(std::string_view object, const CounterInfo& info) {
  const UnitRow unit = prometheus_unit(info.unit);
  std::string_view base = info.name;
  if (unit.scale != 1 && ends_with_word(base, unit.unit)) {  // idle_nsec: the unit changes
    base.remove_suffix(unit.unit.size());
    if (base.ends_with('_')) base.remove_suffix(1);
  }
  MetricName result{"plnet_", unit.scale};
  append_word(result.name, object);
  if (!base.empty()) append_word(result.name += '_', base);
  if (!unit.suffix.empty() && !has_word(base, unit.suffix)) {
    append_word(result.name += '_', unit.suffix);
  }
  if (info.kind == CounterKind::kCount && !result.name.ends_with("_total")) {
    result.name += "_total";
  }
  return result;
}

Metrics::Id Metrics::add(std::string object, std::vector<MetricLabel> labels, CounterView view) {
  PLNET_CHECK(view.info.size() == view.values.size(), "a counter table describes each counter");
  const std::lock_guard lock(mutex_);
  const Id id{next_++};
  sets_.emplace(id, MetricSet{std::move(object), std::move(labels), view});
  return id;
}

Metrics::Id Metrics::add(std::string object, std::vector<MetricLabel> labels,
                         const HistogramInfo& info, const Histogram& histogram) {
  const std::lock_guard lock(mutex_);
  const Id id{next_++};
  histograms_.emplace(id,
                      HistogramMetric{std::move(object), std::move(labels), info, &histogram, {}});
  return id;
}

Metrics::Id Metrics::add(std::string object, std::vector<MetricLabel> labels,
                         const HistogramInfo& info, HistogramFigures figures) {
  const std::lock_guard lock(mutex_);
  const Id id{next_++};
  histograms_.emplace(
      id, HistogramMetric{std::move(object), std::move(labels), info, nullptr, std::move(figures)});
  return id;
}

void Metrics::remove(Id id) {
  const std::lock_guard lock(mutex_);
  histograms_.erase(id);
  sets_.erase(id);
}

void Metrics::for_each(const std::function<void(const MetricSet&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, set] : sets_)
    visit(set);
}

void Metrics::for_each_histogram(const std::function<void(const HistogramMetric&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, metric] : histograms_)
    visit(metric);
}

namespace {

// Buckets of 1024 to 2^36: for times in nanoseconds, a microsecond to a minute. Their bounds are
// bounds of Histogram's buckets, so that no count is estimated.
constexpr unsigned kFirstBound = 10;
constexpr unsigned kLastBound = 36;

std::vector<prometheus::ClientMetric::Label> labels_of(const Metrics& metrics,
                                                       const std::vector<MetricLabel>& labels) {
  std::vector<prometheus::ClientMetric::Label> told;
  std::string host;
  for (const MetricLabel& label : labels) {
    told.push_back({label.name, label.value});
    if (host.empty()) host = metrics.host_of(label.value);
  }
  if (!host.empty()) told.push_back({"host", std::move(host)});
  return told;
}

HistogramFigures figures_of(const Histogram& histogram) {
  const auto now = std::make_unique<HistogramSnapshot>();
  histogram.snapshot(*now);
  HistogramFigures figures{.buckets = {}, .count = now->count(), .sum = now->sum()};
  std::uint64_t below = 0;
  std::size_t at = 0;
  for (unsigned bits = kFirstBound; bits <= kLastBound; ++bits) {
    const std::uint64_t bound = std::uint64_t{1} << bits;
    for (const std::size_t end = HistogramSnapshot::bucket_of(bound); at < end; ++at)
      below += now->in_bucket(at);
    figures.buckets.push_back({.bound = bound, .below = below});
  }
  return figures;
}

// Division by a power of ten is exact where multiplication by its inverse is not: 6.4e-05.
double scaled(std::uint64_t value, double scale) {
  const auto exact = static_cast<double>(value);
  return scale < 1 ? exact / std::round(1 / scale) : exact * scale;
}

prometheus::ClientMetric client_metric(const Metrics& metrics, const HistogramMetric& metric,
                                       double scale) {
  const HistogramFigures figures =
      metric.histogram == nullptr ? metric.figures : figures_of(*metric.histogram);
  prometheus::ClientMetric told;
  told.label = labels_of(metrics, metric.labels);
  for (const HistogramFigures::Bucket& bucket : figures.buckets)
    told.histogram.bucket.push_back({bucket.below, scaled(bucket.bound, scale)});
  told.histogram.bucket.push_back({figures.count, std::numeric_limits<double>::infinity()});
  told.histogram.sample_count = figures.count;
  told.histogram.sample_sum = scaled(figures.sum, scale);
  return told;
}

void add_histograms(const Metrics& metrics, std::vector<prometheus::MetricFamily>& families) {
  std::map<std::string, std::size_t> family_of;
  metrics.for_each_histogram([&](const HistogramMetric& metric) {
    const MetricName name = prometheus_name(
        metric.object, {metric.info.name, metric.info.unit, CounterKind::kGauge, metric.info.help});
    const auto [found, is_new] = family_of.try_emplace(name.name, families.size());
    if (is_new) {
      families.push_back(
          {name.name, std::string(metric.info.help), prometheus::MetricType::Histogram, {}});
    }
    families[found->second].metric.push_back(client_metric(metrics, metric, name.scale));
  });
}

}  // namespace

std::vector<prometheus::MetricFamily> metric_families(const Metrics& metrics) {
  std::vector<prometheus::MetricFamily> families;
  std::map<std::string, std::size_t> family_of;
  metrics.for_each([&](const MetricSet& set) {
    for (std::size_t i = 0; i < set.view.info.size(); ++i) {
      const CounterInfo& info = set.view.info[i];
      const bool counts = info.kind == CounterKind::kCount;
      const MetricName name = prometheus_name(set.object, info);
      const auto [found, is_new] = family_of.try_emplace(name.name, families.size());
      if (is_new) {
        families.push_back(
            {name.name,
             std::string(info.help),
             counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
             {}});
      }
      prometheus::ClientMetric metric;
      metric.label = labels_of(metrics, set.labels);
      const double value = static_cast<double>(set.view.value(i)) * name.scale;
      (counts ? metric.counter.value : metric.gauge.value) = value;
      families[found->second].metric.push_back(std::move(metric));
    }
  });
  add_histograms(metrics, families);
  return families;
}

std::string Metrics::prometheus_text() const {
  return prometheus::TextSerializer().Serialize(metric_families(*this));
}

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
// A register of counter tables with labels, read by lnetctl and Prometheus. Readers load relaxed
// atomics that pollers store anyway, so a scrape delays no poller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/counters.hpp"
#include "lib/base/histogram.hpp"

namespace plnet::runtime {

struct MetricLabel {
  std::string name;  // [a-zA-Z_][a-zA-Z0-9_]*
  std::string value;
};

// One counter table of one object, for readers.
struct MetricSet {
  std::string object;  // the noun of the metric's name: "poller", "device"
  std::vector<MetricLabel> labels;
  CounterView view;
};

// The distribution of sizes or times.
struct HistogramInfo {
  std::string_view name;  // as for a counter
  std::string_view unit;
  std::string_view help;
};
// The same distribution counted elsewhere, at one moment.
struct HistogramFigures {
  struct Bucket {
    std::uint64_t bound = 0;  // upper bound of the sizes
    std::uint64_t below = 0;  // number of smaller values
  };
  std::vector<Bucket> buckets;  // ordered by bound
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
};
struct HistogramMetric {
  std::string object;
  std::vector<MetricLabel> labels;
  HistogramInfo info;
  const Histogram* histogram = nullptr;  // null: use `figures`
  HistogramFigures figures;
};

class Metrics {
 public:
  enum class Id : std::uint64_t {};
  // The host that a label's value belongs to, "" for none: Prometheus gets it as a label `host`.
  using HostOf = std::function<std::string(std::string_view value)>;

  // Call before the first reader.
  void name_hosts(HostOf host_of) { host_of_ = std::move(host_of); }
  [[nodiscard]] std::string host_of(std::string_view value) const {
    return host_of_ ? host_of_(value) : std::string();
  }

  // Any thread but pollers. The memory behind `view` must live until remove() has returned.
  Id add(std::string object, std::vector<MetricLabel> labels, CounterView view);
  Id add(std::string object, std::vector<MetricLabel> labels, const HistogramInfo& info,
         const Histogram& histogram);
  Id add(std::string object, std::vector<MetricLabel> labels, const HistogramInfo& info,
         HistogramFigures figures);
  void remove(Id id);

  // Calls `visit` for each set in the order of add(), with the register locked: `visit` must not
  // add or remove.
  void for_each(const std::function<void(const MetricSet& set)>& visit) const;
  void for_each_histogram(const std::function<void(const HistogramMetric& metric)>& visit) const;

  // Everything in Prometheus' text format.
  [[nodiscard]] std::string prometheus_text() const;

 private:
  HostOf host_of_;
  mutable std::mutex mutex_;
  std::map<Id, MetricSet> sets_;
  std::map<Id, HistogramMetric> histograms_;
  std::uint64_t next_ = 0;
};

// A counter's name in Prometheus and the factor of its value:
// plnet_<object>_<name>[_<unit>][_total], times in seconds.
struct MetricName {
  std::string name;
  double scale = 1;
};
[[nodiscard]] MetricName prometheus_name(std::string_view object, const CounterInfo& info);

}  // namespace plnet::runtime

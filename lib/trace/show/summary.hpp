// SPDX-License-Identifier: BSD-3-Clause
// A capture in tables: who talked to whom, on which portals, which operations and how long they
// took. Sums of summaries are summaries, so parts of a capture may be counted side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/histogram.hpp"
#include "lib/trace/pair/pair_up.hpp"

namespace plnet::trace {

class Summary : public ExchangeSink {
 public:
  // Rows of a table; more are counted together as "others".
  static constexpr std::size_t kRowsMax = 4096;

  void add(const Message& message);
  void on_exchange(const Exchange& exchange) override;
  void merge(const Summary& other);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  // Prometheus's text format.
  [[nodiscard]] std::string metrics() const;

  [[nodiscard]] std::uint64_t messages() const { return total_.messages; }
  [[nodiscard]] std::uint64_t bytes() const { return total_.bytes; }

 private:
  struct Count {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dropped = 0;
    void add(const Count& other);
  };
  struct Latencies {
    std::uint64_t requests = 0;
    std::uint64_t answered = 0;
    std::uint64_t failed = 0;
    std::uint64_t resends = 0;
    std::uint64_t bulk_bytes = 0;
    std::unique_ptr<Histogram> own = std::make_unique<Histogram>();
    std::unique_ptr<HistogramSnapshot> merged;  // from other summaries

    [[nodiscard]] HistogramSnapshot times() const;
  };
  using Table = std::map<std::string, Count>;

  [[nodiscard]] static Count& row(Table& table, std::string name);
  [[nodiscard]] Latencies& operation(std::string name);
  [[nodiscard]] double seconds() const;

  Count total_;
  std::uint64_t first_ns_ = ~0ULL;
  std::uint64_t last_ns_ = 0;
  Table pairs_;
  Table portals_;
  std::map<std::string, Latencies> operations_;
};

}  // namespace plnet::trace

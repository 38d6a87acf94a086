// SPDX-License-Identifier: BSD-3-Clause
// A capture in tables: senders and receivers, portals, operations and their durations. Sums of
// summaries are summaries, so parts of a capture may be counted in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/hash.hpp"
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
  template <class Row>
  using Named = std::map<std::string, Row>;
  using Table = Named<Count>;
  // Rows by numbers, so that a name is composed once and not for each message. The rows of a map
  // stay where they are.
  template <class Key, class Row>
  using Known = std::unordered_map<Key, Row*, KeyHash<Key>>;
  struct Pair {
    lnet::Nid source;
    lnet::Nid destination;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct Kind {  // of a message or an exchange
    std::uint32_t kind = 0;
    std::uint32_t number = 0;
    std::uint32_t portal = 0;
    std::uint32_t has_portal = 0;
    friend bool operator==(const Kind&, const Kind&) = default;
  };

  template <class Row>
  [[nodiscard]] static Row& row(Named<Row>& table, std::string name);
  template <class Key, class Row>
  [[nodiscard]] static Row& row(Known<Key, Row>& known, const Key& key, Named<Row>& table,
                                auto&& name);
  [[nodiscard]] double seconds() const;

  Count total_;
  std::uint64_t first_ns_ = ~0ULL;
  std::uint64_t last_ns_ = 0;
  Table pairs_;
  Table portals_;
  Named<Latencies> operations_;
  Known<Pair, Count> known_pairs_;
  Known<Kind, Count> known_portals_;
  Known<Kind, Latencies> known_operations_;
};

}  // namespace plnet::trace

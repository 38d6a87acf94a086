// SPDX-License-Identifier: BSD-3-Clause
// Counters that cost one addition: dense, one writer, readable by any thread. Each object declares
// its counters in one table; lnetctl, Prometheus and lnetdump print from that table, so a new row
// needs no code.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/cache_line.hpp"

namespace plnet {

enum class CounterKind : std::uint8_t {
  kCount,      // only grows
  kGauge,      // goes up and down
  kHighWater,  // the most ever seen; reset by hand
};

struct CounterInfo {
  std::string_view name;  // snake_case, as printed by lnetctl
  std::string_view unit;  // "messages", "bytes", "ns", …
  CounterKind kind = CounterKind::kCount;
  std::string_view help;
};

// The part of a set of counters that an exporter needs, independent of its type.
struct CounterView {
  std::span<const CounterInfo> info;
  std::span<const std::atomic<std::uint64_t>> values;

  [[nodiscard]] std::uint64_t value(std::size_t index) const {
    return values[index].load(std::memory_order_relaxed);
  }
};

// Table is a type made by PLNET_COUNTERS below. Only the owner of the shard may call the functions
// that write.
template <class Table>
class alignas(kNoSharing) Counters {
 public:
  using Id = typename Table::Id;

  void add(Id id, std::uint64_t amount = 1) { store(id, get(id) + amount); }
  void subtract(Id id, std::uint64_t amount = 1) { store(id, get(id) - amount); }
  void set(Id id, std::uint64_t value) { store(id, value); }
  void raise_to(Id id, std::uint64_t value) {
    if (value > get(id)) store(id, value);
  }
  void reset() {
    for (auto& value : values_)
      value.store(0, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t get(Id id) const {
    return values_[static_cast<std::size_t>(id)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] CounterView view() const { return {Table::kInfo, values_}; }

 private:
  // A plain load and store, not a locked add: there is one writer.
  void store(Id id, std::uint64_t value) {
    values_[static_cast<std::size_t>(id)].store(value, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, Table::kInfo.size()> values_{};
};

}  // namespace plnet

// Declares struct Name with `enum class Id` and the table kInfo. LIST is an X-macro of rows
// X(id, name, unit, kind, help).
#define PLNET_COUNTERS(Name, LIST)                                                                 \
  struct Name {                                                                                    \
    enum class Id : std::size_t { LIST(PLNET_COUNTER_ID) };                                        \
    static constexpr auto kInfo = std::to_array<::plnet::CounterInfo>({LIST(PLNET_COUNTER_INFO)}); \
  }
#define PLNET_COUNTER_ID(id, name, unit, kind, help) id,
#define PLNET_COUNTER_INFO(id, name, unit, kind, help) \
  {name, unit, ::plnet::CounterKind::kind, help},

// SPDX-License-Identifier: BSD-3-Clause
// A filter ready to run: as machine code on a node, or as an expression.
#pragma once

#include <cstdint>

#include "lib/trace/filter/expression.hpp"
#include "lib/trace/filter/filter_input.hpp"

namespace plnet::trace {

class RecordFilter {
 public:
  virtual ~RecordFilter() = default;
  // Hot. Several threads may call it at the same time. The input is not changed.
  [[nodiscard]] virtual bool matches(FilterInput& input) const = 0;
  // True if fill_content() must be called.
  [[nodiscard]] virtual bool needs_content() const = 0;
  // Replaces matches() by one call if the filter is machine code; the result 0 means no match.
  using MachineCode = std::uint64_t (*)(void* input);
  [[nodiscard]] virtual MachineCode machine_code() const { return nullptr; }
  // The filter reads only the words of the record in kBriefWords.
  [[nodiscard]] virtual bool reads_brief_only() const { return false; }
};

class ExpressionFilter final : public RecordFilter {
 public:
  explicit ExpressionFilter(Expression expression) : expression_(std::move(expression)) {}
  [[nodiscard]] bool matches(FilterInput& input) const override {
    return expression_.matches(input);
  }
  [[nodiscard]] bool needs_content() const override { return expression_.needs_content(); }

 private:
  const Expression expression_;
};

}  // namespace plnet::trace

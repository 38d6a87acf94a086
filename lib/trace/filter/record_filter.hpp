// SPDX-License-Identifier: BSD-3-Clause
// A filter that is ready to run, in whatever way: as machine code on a node, or as an expression.
#pragma once

#include "lib/trace/filter/expression.hpp"
#include "lib/trace/filter/filter_input.hpp"

namespace plnet::trace {

class RecordFilter {
 public:
  virtual ~RecordFilter() = default;
  // Hot. Several threads may ask at a time. The input is not changed.
  [[nodiscard]] virtual bool matches(FilterInput& input) const = 0;
  // fill_content() has to be called.
  [[nodiscard]] virtual bool needs_content() const = 0;
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

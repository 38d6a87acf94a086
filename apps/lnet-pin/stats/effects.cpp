// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/stats/effects.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "apps/lnet-pin/stats/quantile.hpp"
#include "lib/base/check.hpp"

namespace plnet::pin {
namespace {

constexpr double kSmallestPivot = 1e-9;

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

// The inverse of a symmetric matrix by Gauss-Jordan elimination; nothing if it is singular.
std::optional<Matrix> inverse_of(Matrix matrix) {
  const std::size_t size = matrix.size();
  Matrix inverse(size, Row(size, 0));
  for (std::size_t i = 0; i < size; ++i)
    inverse[i][i] = 1;
  for (std::size_t column = 0; column < size; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < size; ++row) {
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    }
    if (std::abs(matrix[pivot][column]) < kSmallestPivot) return std::nullopt;
    std::swap(matrix[pivot], matrix[column]);
    std::swap(inverse[pivot], inverse[column]);
    const double scale = matrix[column][column];
    for (std::size_t i = 0; i < size; ++i) {
      matrix[column][i] /= scale;
      inverse[column][i] /= scale;
    }
    for (std::size_t row = 0; row < size; ++row) {
      const double factor = matrix[row][column];
      if (row == column || factor == 0) continue;
      for (std::size_t i = 0; i < size; ++i) {
        matrix[row][i] -= factor * matrix[column][i];
        inverse[row][i] -= factor * inverse[column][i];
      }
    }
  }
  return inverse;
}

// Rows of weights: a coefficient is the sum of the treatments' logarithms weighted by its row.
// Nothing: the columns are linearly dependent.
std::optional<Matrix> solver_of(const Matrix& design) {
  const std::size_t columns = design.front().size();
  if (columns > design.size()) return std::nullopt;
  Matrix normal(columns, Row(columns, 0));
  for (const Row& row : design) {
    for (std::size_t i = 0; i < columns; ++i) {
      for (std::size_t j = 0; j < columns; ++j)
        normal[i][j] += row[i] * row[j];
    }
  }
  const auto inverse = inverse_of(std::move(normal));
  if (!inverse) return std::nullopt;
  Matrix solver(columns, Row(design.size(), 0));
  for (std::size_t i = 0; i < columns; ++i) {
    for (std::size_t treatment = 0; treatment < design.size(); ++treatment) {
      for (std::size_t j = 0; j < columns; ++j)
        solver[i][treatment] += (*inverse)[i][j] * design[treatment][j];
    }
  }
  return solver;
}

class Model {
 public:
  Model(const std::vector<Treatment>& treatments, const Bootstrap& how)
      : treatments_(treatments), how_(how), rounds_(treatments.front().figures.size()) {
    for (const Treatment& treatment : treatments) {
      PLNET_CHECK(treatment.figures.size() == rounds_, "every treatment was in every round");
      levels_.resize(treatment.levels.size(), 1);
      for (std::size_t i = 0; i < levels_.size(); ++i)
        levels_[i] = std::max(levels_[i], treatment.levels[i] + 1);
      auto& logs = logs_.emplace_back();
      for (const double figure : treatment.figures)
        logs.push_back(std::log(figure));
    }
  }

  Effects effects() {
    Effects result;
    find_main(result);
    for (std::size_t a = 0; a < levels_.size(); ++a) {
      for (std::size_t b = a + 1; b < levels_.size(); ++b) {
        if (knows(result, a) && knows(result, b)) find_interaction(a, b, result);
      }
    }
    return result;
  }

 private:
  // Columns of an additive model: one for each level but the first of each factor in `factors`.
  void add_columns(Matrix& design, std::size_t factor) const {
    for (std::size_t level = 1; level < levels_[factor]; ++level) {
      for (std::size_t i = 0; i < design.size(); ++i)
        design[i].push_back(treatments_[i].levels[factor] == level ? 1 : 0);
    }
  }
  [[nodiscard]] Matrix additive(const std::vector<std::size_t>& factors) const {
    Matrix design(treatments_.size(), Row{1});
    for (const std::size_t factor : factors)
      add_columns(design, factor);
    return design;
  }
  [[nodiscard]] bool knows(const Effects& effects, std::size_t factor) const {
    return levels_[factor] > 1 &&
           std::ranges::find(effects.unknown, factor) == effects.unknown.end();
  }

  // Adds factors to the model as long as their columns are independent of the others.
  void find_main(Effects& result) {
    for (std::size_t factor = 0; factor < levels_.size(); ++factor) {
      if (levels_[factor] < 2) continue;
      std::vector<std::size_t> with = known_;
      with.push_back(factor);
      if (solver_of(additive(with)))
        known_ = std::move(with);
      else
        result.unknown.push_back(factor);
    }
    if (known_.empty()) return;
    const auto solver = solver_of(additive(known_));
    PLNET_CHECK(solver.has_value(), "each factor was tried as it came");
    std::size_t row = 1;
    for (const std::size_t factor : known_) {
      for (std::size_t level = 1; level < levels_[factor]; ++level)
        result.main.push_back({factor, level, percent_of((*solver)[row++])});
    }
  }

  void find_interaction(std::size_t a, std::size_t b, Effects& result) const {
    Matrix design = additive(known_);
    const std::size_t first = design.front().size();
    std::vector<std::pair<std::size_t, std::size_t>> cells;
    for (std::size_t level = 1; level < levels_[a]; ++level) {
      for (std::size_t other = 1; other < levels_[b]; ++other) {
        cells.emplace_back(level, other);
        for (std::size_t i = 0; i < design.size(); ++i) {
          const auto& levels = treatments_[i].levels;
          design[i].push_back(levels[a] == level && levels[b] == other ? 1 : 0);
        }
      }
    }
    const auto solver = solver_of(design);
    if (!solver) {
      result.unknown_pairs.emplace_back(a, b);
      return;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      result.interactions.push_back(
          {a, cells[i].first, b, cells[i].second, percent_of((*solver)[first + i])});
    }
  }

  // A coefficient, from the medians of the treatments over resampled rounds.
  [[nodiscard]] Interval percent_of(const Row& weights) const {
    const Figure figure = [&](std::span<const std::size_t> rounds) {
      double sum = 0;
      std::vector<double> drawn(rounds.size());
      for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] == 0) continue;
        for (std::size_t j = 0; j < rounds.size(); ++j)
          drawn[j] = logs_[i][rounds[j]];
        sum += weights[i] * median_of(drawn);
      }
      return sum;
    };
    std::vector<std::size_t> all(rounds_);
    for (std::size_t i = 0; i < rounds_; ++i)
      all[i] = i;
    const Interval logs =
        interval_of(figure(all), resample(rounds_, how_, figure), rounds_, how_.confidence);
    return {percent_of_log(logs.estimate), percent_of_log(logs.low), percent_of_log(logs.high)};
  }

  const std::vector<Treatment>& treatments_;
  const Bootstrap& how_;
  std::size_t rounds_;
  std::vector<std::size_t> levels_{};  // of each factor
  std::vector<std::vector<double>> logs_{};
  std::vector<std::size_t> known_{};
};

}  // namespace

Effects effects_of(const std::vector<Treatment>& treatments, const Bootstrap& how) {
  if (treatments.empty() || treatments.front().figures.empty()) return {};
  return Model(treatments, how).effects();
}

}  // namespace plnet::pin

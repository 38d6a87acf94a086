// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl top`: the load by sender, network, portal or next hop, the heaviest first.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/lnet/load/load_ranking.hpp"
#include "lib/runtime/lnet/load_json.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/node_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;
using lnet::LoadBy;

constexpr std::int64_t kRowsDefault = 10;
constexpr std::int64_t kRowsMax = 256;

struct LoadQuestion {
  LoadBy by = LoadBy::kNid;
  std::size_t rows = kRowsDefault;
};

Outcome<LoadQuestion> load_question(const VerbArgs& args) {
  LoadQuestion question;
  const std::string by = text_arg(args, "by");
  const auto meant =
      std::ranges::find(lnet::kLoadBys, by, [](LoadBy each) { return name_of(each); });
  if (meant != lnet::kLoadBys.end()) {
    question.by = *meant;
  } else if (!by.empty()) {
    return failure(Errc::kInvalid, fmt::format("by: '{}', expected nid, net, portal or hop", by));
  }
  const auto rows = number_arg(args, "rows", 1, kRowsMax);
  if (!rows) return std::unexpected(rows.error());
  question.rows = static_cast<std::size_t>(rows->value_or(kRowsDefault));
  return question;
}

}  // namespace

Json load_to_json(const lnet::LoadSnapshot& snapshot, LoadBy of, std::size_t rows) {
  const std::string by(name_of(of));
  const auto usec = [](const lnet::LoadRow& row, Duration lnet::HopDelay::* quantile) {
    if (!row.delay) return Json{};
    return Json(std::chrono::ceil<std::chrono::microseconds>(*row.delay.*quantile).count());
  };
  const auto row_to_json = [&](const lnet::LoadRow& row) {
    return object_of({{by, row.name},
                      {"messages per sec", row.messages},
                      {"bytes per sec", row.bytes},
                      {"p50 usec", usec(row, &lnet::HopDelay::p50)},
                      {"p90 usec", usec(row, &lnet::HopDelay::p90)},
                      {"p99 usec", usec(row, &lnet::HopDelay::p99)},
                      {"max usec", usec(row, &lnet::HopDelay::max)},
                      {"perhaps of others", if_any(row.doubtful)}});
  };
  Json list = list_of(heaviest(snapshot, of, rows), row_to_json);
  const auto seconds = std::chrono::round<std::chrono::seconds>(snapshot.covered).count();
  return {{"top", {{"by", by}, {"of the last sec", seconds}, {"load", std::move(list)}}}};
}

void add_load_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(kNodeVerbs["top"],
            judged(load_question, [&control](const LoadQuestion& question, VerbToken token) {
              control.load(
                  printed<lnet::LoadSnapshot>(std::move(token), [question](const auto& snapshot) {
                    return load_to_json(snapshot, question.by, question.rows);
                  }));
            }));
}

}  // namespace plnet::runtime

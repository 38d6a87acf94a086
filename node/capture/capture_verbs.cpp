// SPDX-License-Identifier: BSD-3-Clause
#include "node/capture/capture_verbs.hpp"

#include <bit>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/runtime/lnet/verb_args.hpp"
#include "lib/runtime/trace/filter_runner.hpp"
#include "lib/runtime/verbs/capture_rows.hpp"
#include "lib/runtime/verbs/node_rows.hpp"
#include "lib/trace/filter/compiler.hpp"
#include "lib/trace/filter/verifier.hpp"
#include "node/capture/captures.hpp"

namespace plnet::node {

namespace {

using runtime::Caller;
using runtime::Json;
using runtime::VerbError;
using runtime::VerbReply;
using Args = nlohmann::json;

constexpr std::int64_t kRingKibDefault = 4096;

Outcome<std::unique_ptr<trace::RecordFilter>> loaded(const trace::BpfProgram& program) {
  auto runner = runtime::FilterRunner::load(program);
  if (!runner) return std::unexpected(std::move(runner.error()));
  return std::make_unique<runtime::FilterRunner>(std::move(*runner));
}

// An expression, a user's program, or neither: null. Not both: programs have no "and".
Outcome<std::unique_ptr<trace::RecordFilter>> filter_of(const std::string& text,
                                                        const std::string& program) {
  if (!program.empty()) {
    if (!text.empty()) {
      return failure(Errc::kInvalid, "a capture has a filter or a program, not both");
    }
    const auto instructions = trace::parse_program_text(program);
    if (!instructions) return std::unexpected(instructions.error());
    const auto verified = trace::verify(*instructions);
    if (!verified) return std::unexpected(verified.error());
    return loaded(*verified);
  }
  auto expression = trace::Expression::parse(text);
  if (!expression) return std::unexpected(std::move(expression.error()));
  if (expression->is_empty()) return nullptr;
  const auto compiled = trace::compile(*expression);
  if (!compiled) return std::unexpected(compiled.error());
  return loaded(*compiled);
}

Outcome<CaptureOrder> order_of(const Args& args, const Caller& caller) {
  CaptureOrder order;
  order.uid = caller.uid;
  order.pid = caller.pid;
  const std::string program = runtime::text_arg(args, "program");
  order.filter_text = program.empty() ? runtime::text_arg(args, "filter") : "(program)";
  auto filter = filter_of(runtime::text_arg(args, "filter"), program);
  if (!filter) return std::unexpected(std::move(filter.error()));
  order.filter = std::move(*filter);
  const auto snap = runtime::number_arg(args, "snap", 0, trace::kRingSnapMax);
  if (!snap) return std::unexpected(snap.error());
  order.snap_bytes = static_cast<std::uint32_t>(snap->value_or(0));
  constexpr std::int64_t kLeast = trace::kRingBytesMin >> 10U;
  constexpr std::int64_t kMost = trace::kRingBytesMax >> 10U;
  const auto kib = runtime::number_arg(args, "ring_kib", kLeast, kMost);
  if (!kib) return std::unexpected(kib.error());
  order.ring_bytes = std::bit_ceil(static_cast<std::size_t>(kib->value_or(kRingKibDefault)) << 10U);
  const std::string keep = runtime::text_arg(args, "keep");
  if (!keep.empty() && keep != "newest" && keep != "oldest") {
    return failure(Errc::kInvalid, "keep: '" + keep + "'; expected newest or oldest");
  }
  order.keep = keep == "oldest" ? trace::Keep::kOldest : trace::Keep::kNewest;
  order.states = runtime::flag_arg(args, "states");
  return order;
}

VerbReply start_capture(Captures* captures, const Args& args, const Caller& caller) {
  if (captures == nullptr || caller.handed == nullptr) {
    return std::unexpected(VerbError(Error{Errc::kShutdown, "the node cannot capture now"}));
  }
  auto order = order_of(args, caller);
  if (!order) return std::unexpected(VerbError(std::move(order.error())));
  const std::size_t ring_bytes = order->ring_bytes;
  auto started = captures->start(std::move(*order));
  if (!started) return std::unexpected(VerbError(std::move(started.error())));
  *caller.handed = std::move(started->descriptors);
  return Json{
      {"capture", started->number}, {"shards", captures->shards()}, {"ring_bytes", ring_bytes}};
}

VerbReply show_captures(const Captures* captures) {
  Json list = Json::array();
  if (captures == nullptr) return Json::object();
  for (const CaptureReport& report : captures->list()) {
    list.push_back({{"capture", report.number},
                    {"filter", report.filter_text},
                    {"snap", report.snap_bytes},
                    {"ring_kib", report.ring_bytes >> 10U},
                    {"keep", report.keep == trace::Keep::kOldest ? "oldest" : "newest"},
                    {"states", report.states},
                    {"uid", report.uid},
                    {"pid", report.pid},
                    {"messages", report.offered},
                    {"no_room", report.dropped}});
  }
  return Json{{"captures", std::move(list)}};
}

}  // namespace

void add_capture_verbs(runtime::VerbTable& verbs, const std::function<Captures*()>& captures) {
  verbs.add(runtime::kCaptureVerbs["capture start"],
            [captures](const Args& args, const Caller& caller) -> VerbReply {
              return start_capture(captures(), args, caller);
            });
  verbs.add(
      runtime::kNodeVerbs["capture show"],
      [captures](const Args&, const Caller&) -> VerbReply { return show_captures(captures()); });
}

}  // namespace plnet::node

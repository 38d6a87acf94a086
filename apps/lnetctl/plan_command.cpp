// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl cpt plan`: the planner that a starting node uses, run here without a node.
#include <array>
#include <limits>

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings_reader.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/cpt/number_list.hpp"
#include "lib/runtime/cpt/plan_report.hpp"
#include "lib/runtime/files/text_file.hpp"
#include "node/net/family_facts.hpp"

namespace plnet::apps {
namespace {

using row_makers::flag;
using row_makers::number;
using row_makers::text;
using runtime::CptPlanRequest;

Outcome<CptPlanRequest::By> parse_by(std::string_view text) {
  for (const auto by :
       {CptPlanRequest::By::kAuto, CptPlanRequest::By::kNumaNode, CptPlanRequest::By::kCore,
        CptPlanRequest::By::kPartitions, CptPlanRequest::By::kPattern}) {
    if (text == runtime::name_of(by)) return by;
  }
  return failure(
      Errc::kInvalid,
      fmt::format("cpt plan: option '--by': '{}' is no way to divide a machine; expected "
                  "auto, numa, core, partitions or pattern",
                  text));
}

Outcome<unsigned> small_number(const Arguments& arguments, std::string_view name) {
  const std::int64_t number = arguments.number(name).value_or(0);
  if (number >= 0 && number <= std::numeric_limits<int>::max()) {
    return static_cast<unsigned>(number);
  }
  return failure(
      Errc::kOutOfRange,
      fmt::format("cpt plan: option '--{}': {} is out of range; expected a number from 0 "
                  "up",
                  name, number));
}

using Request = std::expected<CptPlanRequest, runtime::VerbError>;

std::unexpected<runtime::VerbError> refuse(Error error) {
  return std::unexpected(runtime::VerbError(std::move(error)));
}

Request request_of_file(const std::string& path) {
  auto text = runtime::read_file(path);
  if (!text) return refuse(std::move(text.error()));
  const auto settings =
      runtime::read_settings(runtime::Schema(node::family_sections()), *text, path);
  if (settings) return settings->cpts;
  std::vector<runtime::VerbFault> faults;
  for (const runtime::ConfigError& error : settings.error().list())
    faults.push_back({.code = Errc::kInvalid, .what = error.what, .where = error.where()});
  return std::unexpected(runtime::VerbError(std::move(faults)));
}

// The file if there is one, and over it what stands on the command line.
Request request_from(const Arguments& arguments) {
  CptPlanRequest request;
  if (arguments.has("config")) {
    auto from_file = request_of_file(arguments.text("config"));
    if (!from_file) return from_file;
    request = std::move(*from_file);
  }
  const auto partitions = small_number(arguments, "npartitions");
  if (!partitions) return refuse(partitions.error());
  if (arguments.has("npartitions")) request.partitions = *partitions;
  const auto shards = small_number(arguments, "shards-per-cpt");
  if (!shards) return refuse(shards.error());
  if (arguments.has("shards-per-cpt")) request.shards_per_cpt = *shards;
  if (arguments.has("pattern")) request.pattern = arguments.text("pattern");
  // A given option decides the way of planning, like the kernel's options.
  if (arguments.has("npartitions")) request.by = CptPlanRequest::By::kPartitions;
  if (arguments.has("pattern")) request.by = CptPlanRequest::By::kPattern;
  if (arguments.has("by")) {
    const auto by = parse_by(arguments.text("by"));
    if (!by) return refuse(by.error());
    request.by = *by;
  }
  if (!arguments.has("reserve")) return request;
  auto reserved = runtime::parse_number_list(arguments.text("reserve"), runtime::kMaxCpus - 1);
  if (!reserved) {
    return refuse(
        {reserved.error().code, "cpt plan: option '--reserve': " + reserved.error().what});
  }
  request.reserved_cpus = std::move(*reserved);
  return request;
}

int run_cpt_plan(const Arguments& arguments, const CommandRow& row, Session& session) {
  const auto request = request_from(arguments);
  if (!request) return print_error(session, row, request.error());
  const auto planned = runtime::plan_machine(
      *request, {.synthetic = arguments.text("synthetic"), .xml_path = arguments.text("xml")});
  if (!planned) return print_error(session, row, planned.error());
  const auto& [plan, topology] = *planned;
  if (arguments.has("yaml")) {
    return print_result(session, row, runtime::request_to_json(runtime::request_of(plan)));
  }
  if (arguments.has("draw") && !session.json) {
    print_text(session.out, runtime::plan_text(plan, topology));
    return 0;
  }
  return print_result(session, row, runtime::plan_to_json(plan, topology));
}

constexpr std::array kPlanRows{CommandRow{
    .verb =
        {.words = "cpt plan",
         .help = "what CPTs a machine would get; needs no node",
         .options = {text("synthetic", 0, "TEXT",
                          "of this machine instead: hwloc's \"pack:2 [numa] l3:2 core:4 pu:2\""),
                     text("xml", 0, "FILE", "of the machine that lstopo wrote to FILE"),
                     text("config", 0, "FILE", "as the section plnet: cpts: of FILE says"),
                     text("by", 0, "WAY", "auto, numa, core, partitions or pattern"),
                     number("npartitions", 0, "N", "so many CPTs (the kernel's cpu_npartitions)"),
                     text("pattern", 0, "TEXT", "the kernel's cpu_pattern"),
                     number("shards-per-cpt", 0, "N",
                            "so many shards in each CPT; 0 = one on every CPU"),
                     text("reserve", 0, "CPULIST", "CPUs left to the system, such as 0,8-9"),
                     flag("draw", 0, "draw the machine"),
                     flag("yaml", 0, "as configuration to paste")},
         .entity = "cpt"},
    .run = run_cpt_plan}};

}  // namespace

std::span<const CommandRow> plan_commands() {
  return kPlanRows;
}

}  // namespace plnet::apps

// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl fault`. Rules have the names and forms of a document (config/fault_schema.hpp).
// Checked against lustre-release lnet/utils/lnetctl.c: jt_fault_add(), jt_fault_del_common(),
// lnet/lnet/api-ni.c: fault_attr_list.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/config/lnet_schema.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/fault_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::FaultKind;
using lnet::LnetControl;
using lnet::Nid;

constexpr std::int64_t kNumberMax = 0x7fffffff;

Outcome<lnet::FaultSpec> fault_to_add(FaultKind kind, const VerbArgs& args) {
  lnet::FaultSpec fault = kBlankFault;
  fault.kind = kind;
  fault.random = flag_arg(args, "random");
  fault.all = flag_arg(args, "drop_all");
  const std::string type = text_arg(args, "rule_type");
  if (!type.empty() && type != name_of(kind)) {
    return failure(Errc::kInvalid,
                   fmt::format("rule_type: '{}', expected {}", type, name_of(kind)));
  }
  for (const auto& [name, number] : {std::pair{"rate", &fault.rate},
                                     {"interval", &fault.interval_s},
                                     {"latency", &fault.latency_s}}) {
    const auto given = number_arg(args, name, 0, kNumberMax);
    if (!given) return std::unexpected(given.error());
    *number = static_cast<std::uint32_t>(given->value_or(0));
  }
  if (auto taken = take_texts(args, fault_keys(), &fault); !taken)
    return std::unexpected(std::move(taken.error()));
  return lnet::complete(fault);
}

struct FaultSelection {
  Nid source = Nid::any();
  Nid destination = Nid::any();
};

Outcome<FaultSelection> faults_to_delete(const VerbArgs& args) {
  const std::string source = text_arg(args, "source");
  const std::string destination = text_arg(args, "dest");
  if (flag_arg(args, "all")) {
    if (source.empty() && destination.empty()) return FaultSelection{};
    return failure(Errc::kInvalid, "--source and --dest do not go with --all");
  }
  if (source.empty() || destination.empty()) {
    return failure(Errc::kMissing, "expected --source and --dest of the rules, or --all");
  }
  const auto from = lnet::parse_nid_or_any(source);
  if (!from) return std::unexpected(from.error());
  const auto to = lnet::parse_nid_or_any(destination);
  if (!to) return std::unexpected(to.error());
  return FaultSelection{*from, *to};
}

// The kernel's keys in its order. Fields that the kernel does not print come last, if the rule has
// them.
Json report_to_json(const lnet::FaultReport& report) {
  const lnet::FaultSpec& spec = report.spec;
  const bool drops = spec.kind == FaultKind::kDrop;
  return object_of({{"rule_type", name_of(spec.kind)},
                    {"fa_src", text_of(spec.source)},
                    {"fa_dst", text_of(spec.destination)},
                    {"fa_ptl_mask", spec.portals},
                    {"fa_msg_mask", spec.types},
                    {drops ? "da_rate" : "la_rate", spec.rate},
                    {drops ? "da_interval" : "la_interval", spec.interval_s},
                    {"la_latency", drops ? Json{} : Json(spec.latency_s)},
                    {drops ? "ds_dropped" : "ls_delayed", report.counts.struck},
                    {"fs_count", report.counts.matched},
                    {"fs_put", report.counts.put},
                    {"fs_ack", report.counts.ack},
                    {"fs_get", report.counts.get},
                    {"fs_reply", report.counts.reply},
                    {"fa_local_nid", spec.local.is_any() ? Json{} : Json(text_of(spec.local))},
                    {"da_health_error", if_any(lnet::text_of_fault_health(spec.health_errors))},
                    {"da_random", if_any(spec.random)},
                    {"da_drop_all", if_any(spec.all)}});
}

struct FaultRows {
  const VerbRow& add;
  const VerbRow& del;
  const VerbRow& reset;
  const VerbRow& show;
};

void add_verbs_of(VerbTable& verbs, LnetControl& control, FaultKind kind, const FaultRows& rows) {
  verbs.add(rows.add, judged([kind](const VerbArgs& args) { return fault_to_add(kind, args); },
                             [&control](const lnet::FaultSpec& fault, VerbToken token) {
                               control.add_fault(fault, silent(std::move(token)));
                             }));
  verbs.add(rows.del,
            judged(faults_to_delete, [&control, kind](const FaultSelection& what, VerbToken token) {
              control.del_faults(kind, what.source, what.destination,
                                 printed<std::size_t>(std::move(token), [](std::size_t removed) {
                                   return Json{{"fault", {{"removed", removed}}}};
                                 }));
            }));
  verbs.add(rows.reset, [&control, kind](const VerbArgs&, const Caller&, VerbToken token) {
    control.reset_faults(kind, silent(std::move(token)));
  });
  verbs.add(rows.show, [&control, kind](const VerbArgs&, const Caller&, VerbToken token) {
    control.faults(
        kind, printed<std::vector<lnet::FaultReport>>(std::move(token), [](const auto& reports) {
          return document_of("fault", list_of(reports, report_to_json));
        }));
  });
}

}  // namespace

void add_fault_verbs(VerbTable& verbs, LnetControl& control) {
  add_verbs_of(verbs, control, FaultKind::kDrop,
               {kFaultVerbs["fault drop add"], kFaultVerbs["fault drop del"],
                kFaultVerbs["fault drop reset"], kFaultVerbs["fault drop show"]});
  add_verbs_of(verbs, control, FaultKind::kDelay,
               {kFaultVerbs["fault delay add"], kFaultVerbs["fault delay del"],
                kFaultVerbs["fault delay reset"], kFaultVerbs["fault delay show"]});
}

}  // namespace plnet::runtime

// SPDX-License-Identifier: BSD-3-Clause
// Verbs for internals of LNet: recovery queues, CPTs of NIDs, the service ID of o2iblnd.
// Checked against lustre-release lnet/utils/lnetctl.c: jt_show_recovery(), jt_calc_cpt_of_nid(),
// lnet/lnet/api-ni.c: lnet_debug_recovery_show_dump(), cpt_of_nid_props_list;
// lnet/utils/lnetconfig/liblnetconfig.c: lustre_lnet_calc_service_id().
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;
using Cpts = std::vector<std::optional<std::uint16_t>>;

void show_recovery(LnetControl& control, const VerbArgs& args, VerbToken token) {
  const bool local = flag_arg(args, "local");
  const bool peer = flag_arg(args, "peer");
  if (!local && !peer) {
    return fail(token, {Errc::kInvalid, "debug recovery: expected --local or --peer"});
  }
  control.recovery(printed<lnet::RecoveryReport>(std::move(token), [=](const auto& report) {
    // An empty queue is not shown.
    return object_of(
        {{"Local NI recovery", local ? numbered("nid-", texts_of(report.local)) : Json{}},
         {"Peer NI recovery", peer ? numbered("nid-", texts_of(report.peers)) : Json{}}});
  }));
}

void show_cpts(LnetControl& control, const std::vector<lnet::Nid>& nids, VerbToken token) {
  control.cpts_of(nids, [nids, token = std::move(token)](Outcome<Cpts>&& cpts) mutable {
    if (!cpts) return fail(token, std::move(cpts.error()));
    Json list = Json::array();
    for (std::size_t i = 0; i < nids.size(); ++i) {
      const std::string nid = text_of(nids[i]);
      if (!(*cpts)[i]) {
        return fail(token,
                    {Errc::kNotFound,
                     fmt::format("{}: no such peer yet, and `plnet: lnet: placement: balanced` "
                                 "assigns it a CPT when it is created",
                                 nid)});
      }
      list.push_back({{"nid", nid}, {"cpt", *(*cpts)[i]}});
    }
    token.finish(document_of("cpt-of-nid", std::move(list)));
  });
}

// The port of o2iblnd's listener as the connection manager's service ID, in wire byte order.
std::uint64_t service_id(const lnet::NodeConfig& config) {
  constexpr std::uint64_t kPortSpaceTcp = 0x0106;  // RDMA_PS_TCP
  std::uint64_t port = 987;
  for (const lnet::ModuleOption& option : config.module_options) {
    if (option.module != "ko2iblnd" || option.name != "service") continue;
    port = whole_number<std::uint16_t>(option.value, 10).value_or(987);
  }
  const std::uint64_t id = (kPortSpaceTcp << 16U) + port;
  return std::endian::native == std::endian::big ? id : std::byteswap(id);
}

}  // namespace

void add_debug_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(kLnetVerbs["debug recovery"], bound(control, show_recovery));
  verbs.add(kLnetVerbs["cpt-of-nid"],
            judged([](const VerbArgs& args) { return nids_arg(args, "nid"); },
                   [&control](const std::vector<lnet::Nid>& nids, VerbToken token) {
                     show_cpts(control, nids, std::move(token));
                   }));
  verbs.add(kLnetVerbs["service-id"], [&control](const VerbArgs&, const Caller&) -> VerbReply {
    return Json{{"service_id", {{"value", fmt::format("{:#x}", service_id(control.config()))}}}};
  });
}

}  // namespace plnet::runtime

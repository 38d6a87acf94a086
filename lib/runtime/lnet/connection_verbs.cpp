// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl conn`: the contents of a kernel's `lctl conn_list` and `lctl peer_list`, and more.
#include <utility>
#include <vector>

#include "lib/runtime/lnet/connection_json.hpp"
#include "lib/runtime/lnet/verb_answers.hpp"
#include "lib/runtime/lnet/verb_groups.hpp"
#include "lib/runtime/verbs/lnet_rows.hpp"

namespace plnet::runtime {
namespace {

using lnet::LnetControl;

template <class Report>
void show(const VerbArgs& args, VerbToken token, auto ask, auto print) {
  const auto query = connection_query(args);
  if (!query) return fail(token, query.error());
  const int level = level_arg(args);
  ask(*query, printed<std::vector<Report>>(std::move(token), [level, print](const auto& reports) {
    return print(reports, level);
  }));
}

}  // namespace

void add_connection_verbs(VerbTable& verbs, LnetControl& control) {
  verbs.add(kLnetVerbs["conn show"], [&control](const VerbArgs& args, const Caller&,
                                                VerbToken token) {
    show<lnet::ConnectionReport>(
        args, std::move(token),
        [&control](const auto& query, auto reply) { control.connections(query, std::move(reply)); },
        connections_to_json);
  });
  verbs.add(kLnetVerbs["conn peers"],
            [&control](const VerbArgs& args, const Caller&, VerbToken token) {
              show<lnet::ConnectionPeerReport>(
                  args, std::move(token),
                  [&control](const auto& query, auto reply) {
                    control.connection_peers(query, std::move(reply));
                  },
                  connection_peers_to_json);
            });
}

}  // namespace plnet::runtime

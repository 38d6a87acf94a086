// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/service/test_verbs.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/console_calls.hpp"
#include "apps/lnet-selftest/lst/latency_json.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/admin/lnet_admin.hpp"

namespace plnet::apps {
namespace {

using lst::Refusal;
using runtime::Json;
using runtime::OptionKind;
using runtime::VerbAccess;
using runtime::VerbToken;
using Asked = std::expected<Json, Refusal>;
using Question = std::move_only_function<Asked(selftest::SelftestNode& tests, lnet::Node& node)>;

// Runs `question` on shard 0 and answers with its result.
void ask_shard(TestPlace& place, node::LnetAdmin& lnet, Question question, VerbToken token) {
  struct Job {
    Question ask;
    VerbToken token;
    Asked told = std::unexpected(Refusal{ENETDOWN, "LNet is down on this node"});

    void finish() { token.finish(told ? *told : lst::refusal_json(told.error())); }
  };
  auto job = std::make_shared<Job>(std::move(question), std::move(token));
  const auto sent = lnet.desk().order(
      0,
      [&place, job](lnet::Node& node) {
        if (selftest::SelftestNode* const tests = place.tests_owner())
          job->told = job->ask(*tests, node);
      },
      [job] { job->finish(); });
  if (sent) return;
  job->told = std::unexpected(Refusal{EAGAIN, sent.error().what});
  job->finish();
}

std::expected<selftest::Pace, Refusal> pace_of(const nlohmann::json& args) {
  selftest::Pace pace;
  const auto& rate = args.at("rate");
  if (!rate.is_number() || !selftest::is_pace(rate.get<double>())) {
    return std::unexpected(Refusal{EINVAL, fmt::format("rate: expected 0, or {} to {:.0f} a second",
                                                       selftest::kPaceMin, selftest::kPaceMax)});
  }
  pace.rate = rate.get<double>();
  const std::string arrivals = args.value("arrivals", "poisson");
  if (arrivals != "poisson" && arrivals != "constant")
    return std::unexpected(Refusal{EINVAL, "arrivals: expected poisson or constant"});
  if (arrivals == "constant") pace.arrivals = selftest::Arrivals::kConstant;
  pace.seed = static_cast<std::uint64_t>(args.value("seed", std::int64_t{1}));
  return pace;
}

}  // namespace

void add_test_verbs(runtime::VerbTable& verbs, TestPlace& place, node::LnetAdmin& lnet) {
  verbs.add({.words = "selftest latency",
             .help = "latency of the RPCs that this node began as a client of tests",
             .access = VerbAccess::kReads},
            [&place](const auto&, const auto&) -> runtime::VerbReply {
              return lst::latency_json(place.records().latency, place.records().paced);
            });
  verbs.add(
      {.words = "selftest nids", .help = "the NIDs of this node", .access = VerbAccess::kReads},
      [&place, &lnet](const auto&, const auto&, VerbToken token) {
        ask_shard(
            place, lnet,
            [](selftest::SelftestNode&, lnet::Node& node) -> Asked {
              Json nids = Json::array();
              for (const lnet::Ni* const ni : node.coordinator().local().nis)
                if (!ni->nid.is_loopback()) nids.push_back(lnet::text_of(ni->nid));
              return Json{{"nids", std::move(nids)}};
            },
            std::move(token));
      });
  verbs.add({.words = "selftest pace",
             .help = "requests a second of tests that start from now on, until the session ends; "
                     "0: each begins when one has ended",
             .args = {lst::must_have("rate", OptionKind::kAny),
                      {.name = "arrivals"},
                      {.name = "seed", .kind = OptionKind::kNumber}},
             .frequent = true},
            [&place, &lnet](const auto& args, const auto&, VerbToken token) {
              const auto pace = pace_of(args);
              if (!pace) return token.finish(lst::refusal_json(pace.error()));
              ask_shard(
                  place, lnet,
                  [pace = *pace](selftest::SelftestNode& tests, lnet::Node&) -> Asked {
                    if (tests.set_pace(pace)) return Json::object();
                    return std::unexpected(Refusal{ESRCH, "this node has no session"});
                  },
                  std::move(token));
            });
}

}  // namespace plnet::apps

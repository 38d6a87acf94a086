// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/verbs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "node/host/shard_question.hpp"
#include "node/host/shard_tour.hpp"
#include "node/net/kfi/family.hpp"
#include "node/net/kfi/host.hpp"
#include "node/net/kfi/reports.hpp"
#include "node/net/kfi/verb_rows.hpp"

namespace plnet::node {
namespace {

using runtime::VerbError;
using runtime::VerbToken;

// Null before the start of the node.
KfiHost* kfi_of(FamilyAccess& access) {
  return static_cast<KfiHost*>(access.host_of(KfiFamily::kName));
}

// The parts of a verb: the question to an NI on its shard, and the report, which the admin thread
// makes of the answers.
struct OfCassini {
  using Seen = CassiniSeen;
  static bool has(KfiNi& ni) { return ni.context().is_cassini(); }
  static constexpr const char* kKey = "cassini";
  static Seen look(KfiNi& ni, Instant /*now*/) { return look_at_cassini(ni); }
  static KfiJson tell(const Seen& seen) { return report_of(seen); }
};
struct OfKfiPeers {
  using Seen = std::vector<kfilnd::PeerFacts>;
  static constexpr const char* kKey = "kfi peers";
  static bool has(const KfiNi& /*ni*/) { return true; }
  static Seen look(KfiNi& ni, Instant now) { return look_at_peers(ni, now); }
  static KfiJson tell(const Seen& seen) {
    KfiJson list = KfiJson::array();
    for (const kfilnd::PeerFacts& peer : seen)
      list.push_back(report_of(peer));
    return {{"peers", std::move(list)}};
  }
};
struct OfStatistics {
  using Seen = kfilnd::Statistics;
  static constexpr const char* kKey = "kfi stats";
  static bool has(const KfiNi& /*ni*/) { return true; }
  static Seen look(KfiNi& ni, Instant /*now*/) { return ni.statistics(); }
  static KfiJson tell(const Seen& seen) { return {{"text", tables_of(seen)}}; }
};

template <class Of>
struct KfiFound {
  lnet::Nid nid;
  unsigned shard = 0;
  typename Of::Seen seen;
};

template <class Of>
KfiJson kfi_document(const std::vector<KfiFound<Of>>& found) {
  KfiJson list = KfiJson::array();
  std::string text;
  for (const KfiFound<Of>& each : found) {
    KfiJson report{{"nid", text_of(each.nid)}, {"shard", each.shard}};
    KfiJson told = Of::tell(each.seen);
    if (told.contains("text"))
      text += text_of(each.nid) + "\n" + told["text"].template get<std::string>();
    report.update(told);
    list.push_back(std::move(report));
  }
  if constexpr (std::is_same_v<Of, OfStatistics>) return {{"text", std::move(text)}};
  return {{Of::kKey, std::move(list)}};
}

template <class Of>
void show_kfi(LnetDesk& desk, KfiHost& kfi, VerbToken token) {
  using All = std::vector<KfiFound<Of>>;
  gather_from_shards(
      desk, All{},
      [&kfi](lnet::Node& node, unsigned shard, All& found) {
        const Instant now = node.shard(shard).core().now;
        for (KfiNi* const ni : kfi.place(shard).nis()) {
          if (Of::has(*ni)) found.push_back({ni->nid(), shard, Of::look(*ni, now)});
        }
      },
      [token = std::move(token)](Outcome<All>&& found) mutable {
        if (!found) return token.finish(std::unexpected(VerbError(std::move(found.error()))));
        token.finish(kfi_document<Of>(*found));
      });
}

template <class Of>
void add_look(runtime::VerbTable& verbs, FamilyAccess& access, const runtime::VerbRow& row) {
  verbs.add(row, [&access](const auto&, const auto&, VerbToken token) {
    KfiHost* const kfi = kfi_of(access);
    if (kfi == nullptr) return token.finish(KfiJson{{Of::kKey, KfiJson::array()}});
    show_kfi<Of>(access.desk(), *kfi, std::move(token));
  });
}

// On shard 0: it owns the NICs that no NI uses.
void set_address(FamilyAccess& access, const nlohmann::json& args, VerbToken token) {
  const auto name = args.at("if").get<std::string>();
  const auto address = args.at("address").get<std::int64_t>();
  const KfiHost* const kfi = kfi_of(access);
  KfiNic* const nic = kfi == nullptr ? nullptr : kfi->nic(name);
  if (nic == nullptr) {
    return token.finish(
        std::unexpected(VerbError(Error{Errc::kNotFound, "no interface of that name: " + name})));
  }
  ask_node(
      access.desk(),
      [nic, address](lnet::Node& node) {
        const auto wanted = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(address, -1, std::numeric_limits<std::uint32_t>::max()));
        return nic->set_address(wanted, node.shard(0).core().now);
      },
      [token = std::move(token)](Outcome<void>&& done) mutable {
        if (done) return token.finish(KfiJson::object());
        if (done.error().code == Errc::kNetworkDown) done.error().what = "LNet is not configured";
        token.finish(std::unexpected(VerbError(std::move(done.error()))));
      });
}

}  // namespace

void add_kfi_verbs(runtime::VerbTable& verbs, FamilyAccess& access) {
  add_look<OfCassini>(verbs, access, kKfiVerbs["cassini show"]);
  add_look<OfKfiPeers>(verbs, access, kKfiVerbs["kfi peers"]);
  add_look<OfStatistics>(verbs, access, kKfiVerbs["kfi stats"]);
  verbs.add(kKfiVerbs["cassini set"], [&access](const auto& args, const auto&, VerbToken token) {
    set_address(access, args, std::move(token));
  });
}

}  // namespace plnet::node

// SPDX-License-Identifier: BSD-3-Clause
// `lnetctl debug …`, and what the kernel's tool does to the Linux that it runs on.
// Checked against lustre-release lnet/utils/lnetctl.c: jt_show_peer_debug_info(),
// jt_debug_nidlist(), jt_setup_mrrouting(), jt_setup_sysctl();
// lnet/utils/lnetconfig/liblnetconfig.c: lustre_lnet_debug_nidlist(),
// lustre_lnet_setup_mrrouting(); lnet/lnet/peer.c: lnet_debug_peer().
#include <array>

#include <fmt/format.h>

#include "apps/lnetctl/commands.hpp"
#include "lib/lnet/names/nid_range.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::apps {
namespace {

// The columns of the line that a kernel writes into its log.
std::string peer_line(const Json& ni) {
  const auto number = [&](const char* name) { return ni.value(name, std::int64_t{0}); };
  const std::string line =
      fmt::format("{:<24} {:>4} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {}\n", "nid", "refs", "state",
                  "max", "rtr", "min", "tx", "min", "queue");
  return line + fmt::format("{:<24} {:4} {:>5} {:5} {:5} {:5} {:5} {:5} {}\n",
                            ni.value("nid", std::string()), number("refcount"),
                            ni.value("state", std::string()), number("max_ni_tx_credits"),
                            number("available_rtr_credits"), number("min_rtr_credits"),
                            number("available_tx_credits"), number("min_tx_credits"),
                            number("tx_q_num_of_buf"));
}

// A kernel writes it into its log; here whoever asks is told.
int run_debug_peer(const Arguments& arguments, const CommandRow& row, Session& session) {
  const auto refuse = [&](Errc code, std::string what) {
    return print_error(session, row, Error{code, std::move(what)});
  };
  if (!arguments.has("nid")) return refuse(Errc::kInvalid, "debug peer: expected --nid NID");
  const auto nid = lnet::parse_nid(arguments.text("nid"));
  if (!nid) return refuse(nid.error().code, "debug peer: " + nid.error().what);
  const std::string name = lnet::text_of(*nid);
  const auto reply = session.ask("peer show", {{"nid", name}, {"verbose", 1}});
  if (!reply) return print_error(session, row, reply.error());
  for (const Json& peer : reply->value("peer", Json::array())) {
    for (const Json& ni : peer.value("peer ni", Json::array())) {
      if (ni.value("nid", std::string()) != name) continue;
      print_text(session.out, session.json ? ni.dump() + "\n" : peer_line(ni));
      return 0;
    }
  }
  return refuse(Errc::kNotFound, "debug peer: no peer " + name);
}

// Expands a list of NID ranges and says whether it contains this NID. Needs no node.
int run_debug_nidlist(const Arguments& arguments, const CommandRow& row, Session& session) {
  const std::string& list = arguments.positional[0];
  const auto refuse = [&](const Error& error) {
    return print_error(session, row, Error{error.code, "debug nidlist: " + error.what});
  };
  const auto ranges = lnet::NidRangeList::parse(list);
  if (!ranges) return refuse(ranges.error());
  std::string text = fmt::format("nidlist parsed to: {}\n", ranges->text());
  if (arguments.positional.size() > 1) {
    const auto nid = lnet::parse_nid(arguments.positional[1]);
    if (!nid) return refuse(nid.error());
    text += fmt::format("{} {} nidlist {}\n", lnet::text_of(*nid),
                        ranges->matches(*nid) ? "matches" : "does not match", list);
  }
  print_text(session.out, text);
  return 0;
}

// A script that prepares a kernel's node goes on. Who reads is told that nothing was done.
int run_setup(const Arguments&, const CommandRow& row, Session& session) {
  print_text(session.err,
             fmt::format("{}: nothing is changed: {}\n", row.verb.words, row.verb.help));
  return 0;
}

constexpr CommandRow setup(std::string_view words, std::string_view help) {
  return {.verb = {.words = words, .help = help, .operation = "manage", .entity = words},
          .run = run_setup};
}

constexpr std::array kDebugRows{
    CommandRow{.verb = {.words = "debug peer",
                        .help = "the credits and the queue of a peer's interface",
                        .options = {row_makers::text("nid", 'k', "NID", "of the peer's interface")},
                        .operation = "dbg",
                        .entity = "peer"},
               .run = run_debug_peer},
    CommandRow{.verb = {.words = "debug nidlist",
                        .help = "what a list of NID ranges means; needs no node",
                        .positional = {.usage = "LIST [NID]", .min = 1, .max = 2},
                        .operation = "dbg",
                        .entity = "nidlist"},
               .run = run_debug_nidlist},
    setup("setup-mrrouting", "the routing tables of the system are left to its administrator"),
    setup("setup-sysctl", "the variables of the system are left to its administrator"),
};

}  // namespace

std::span<const CommandRow> debug_commands() {
  return kDebugRows;
}

}  // namespace plnet::apps

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/service/console_verbs.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "apps/lnet-selftest/lst/console_calls.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::apps {
namespace {

using lst::console_row;
using lst::kKeyArg;
using lst::must_have;
using runtime::Json;
using runtime::VerbRow;
using runtime::VerbToken;
using enum runtime::OptionKind;
using enum runtime::VerbAccess;
using selftest::Answer;
using selftest::Console;
using selftest::SessionInfo;
using selftest::TransactionId;
using selftest::TransactionResult;
using selftest::WhenDone;
using Args = nlohmann::json;
template <class T>
using Told = ConsoleDesk::Told<T>;
using lst::number_of;
using lst::text_of;

// A refusal of the console is a regular answer: its errno is meaningful to users of lst only.
template <class T>
void finish(VerbToken& token, const Told<T>& told) {
  if (!told) return token.finish(lst::refusal_json(told.error()));
  token.finish(lst::to_json(*told));
}
void finish(VerbToken& token, const Told<void>& told) {
  token.finish(told ? Json::object() : lst::refusal_json(told.error()));
}

template <class T>
Told<T> told_of(Answer<T> answer) {
  if (!answer) return std::unexpected(lst::refusal_of(answer.error()));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return std::move(*answer);
  }
}

// --- Rows ---

class Verbs {
 public:
  using Handler = std::function<void(const Args& args, VerbToken token)>;

  Verbs(runtime::VerbTable& table, ConsoleDesk& desk) : table_(table), desk_(desk) {}

  // Answered as soon as the shard has run `call`, on a copy of the arguments.
  template <class T>
  void ask(const VerbRow& row, Answer<T> (*call)(Console& console, const Args& args)) {
    add(row, [desk = &desk_, call](const Args& args, VerbToken token) {
      desk->ask<T>(
          [args, call](Console& console, lnet::Node&) -> Told<T> {
            if (auto refused = ConsoleDesk::check_key(console, number_of(args, "key")))
              return std::unexpected(std::move(*refused));
            return told_of(call(console, args));
          },
          [token = std::move(token)](const Told<T>& told) mutable { finish(token, told); });
    });
  }

  // Answered when every node has answered or been given up.
  void transact(const lst::ConsoleCall& call) {
    add(call.verb, [desk = &desk_, begin = call.begin](const Args& args, VerbToken token) {
      auto nodes = lst::nodes_of(args);
      if (!nodes) return token.finish(lst::refusal_json(nodes.error()));
      desk->transact(
          number_of(args, "key"),
          [args, begin, nodes = std::move(*nodes)](Console& console, lnet::Node&,
                                                   WhenDone when_done) {
            return begin(console, args, nodes, std::move(when_done));
          },
          [token = std::move(token)](const Told<TransactionResult>& told) mutable {
            finish(token, told);
          });
    });
  }

  void add(const VerbRow& row, Handler handler) {
    table_.add(row, [handler = std::move(handler)](const Args& args, const auto&, VerbToken token) {
      handler(args, std::move(token));
    });
  }

 private:
  runtime::VerbTable& table_;
  ConsoleDesk& desk_;
};

// --- Sessions ---

// A session's NID: the first one that is not loopback, as in the kernel.
std::optional<lnet::Nid> own_nid(lnet::Node& node) {
  for (const lnet::Ni* const ni : node.coordinator().local().nis)
    if (!ni->nid.is_loopback()) return ni->nid;
  return std::nullopt;
}

Answer<TransactionId> new_session(Console& console, lnet::Node& node, const Args& args,
                                  WhenDone when_done) {
  const auto nid = own_nid(node);
  if (!nid) {
    return selftest::refuse(selftest::Refusal::kNodeInactive,
                            "this node has no network other than loopback");
  }
  return console.new_session(lst::new_session_of(args, *nid), std::move(when_done));
}

void add_sessions(Verbs& verbs, ConsoleDesk& desk, const lst::ConsoleHost& host) {
  verbs.add(console_row("lst host", "the session of lst on this node", kReads, {}),
            [&desk, host](const Args&, VerbToken token) {
              desk.ask<lst::ConsoleHost>(
                  [host](const Console& console, lnet::Node&) -> Told<lst::ConsoleHost> {
                    lst::ConsoleHost told = host;
                    const auto session = console.session();
                    told.has_session = session.has_value();
                    if (session) {
                      told.key = session->key;
                      told.session = session->name;
                      told.left_s = console.session_left_s();
                    }
                    return told;
                  },
                  [token = std::move(token)](const Told<lst::ConsoleHost>& told) mutable {
                    finish(token, told);
                  });
            });
  verbs.add(console_row("lst new_session", "begin a session", kChanges,
                        {must_have("name"), kKeyArg, must_have("features", kNumber),
                         must_have("timeout", kNumber), must_have("force", kFlag)}),
            [&desk](const Args& args, VerbToken token) {
              desk.transact(
                  std::nullopt,
                  [&desk, args](Console& console, lnet::Node& node, WhenDone when_done) {
                    auto begun = new_session(console, node, args, std::move(when_done));
                    if (begun) desk.place().session_began_owner();
                    return begun;
                  },
                  [token = std::move(token)](const Told<TransactionResult>& told) mutable {
                    finish(token, told);
                  });
            });
  verbs.add(console_row("lst show_session", "the session of any user", kReads, {kKeyArg}),
            [&desk](const Args&, VerbToken token) {
              desk.ask<SessionInfo>(
                  [](Console& console, lnet::Node&) { return told_of(console.show_session()); },
                  [token = std::move(token)](const Told<SessionInfo>& told) mutable {
                    finish(token, told);
                  });
            });
}

// --- Groups ---

void add_groups(Verbs& verbs) {
  verbs.ask<void>(
      console_row("lst add_group", "name a group", kChanges, {must_have("group"), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.add_group(text_of(args, "group"));
      });
  verbs.ask<void>(
      console_row("lst clean_group", "remove nodes by their state", kChanges,
                  {must_have("group"), must_have("states", kNumber), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.clean_group(text_of(args, "group"),
                                   static_cast<selftest::NodeStates>(number_of(args, "states")));
      });
  verbs.ask<std::vector<std::string>>(
      console_row("lst list_groups", "names of groups", kReads, {kKeyArg}),
      +[](Console& console, const Args&) { return console.list_groups(); });
  verbs.ask<selftest::GroupInfo>(
      console_row("lst group_info", "number of nodes of a group", kReads,
                  {must_have("group"), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.group_info(text_of(args, "group"));
      });
  verbs.ask<std::vector<selftest::NodeInfo>>(
      console_row("lst group_nodes", "the nodes of a group", kReads,
                  {must_have("group"), must_have("states", kNumber), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.group_nodes(text_of(args, "group"),
                                   static_cast<selftest::NodeStates>(number_of(args, "states")));
      });
}

// --- Batches ---

void add_batches(Verbs& verbs) {
  verbs.ask<void>(
      console_row("lst add_batch", "name a batch", kChanges, {must_have("batch"), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.add_batch(text_of(args, "batch"));
      });
  verbs.ask<std::vector<std::string>>(
      console_row("lst list_batches", "names of batches", kReads, {kKeyArg}),
      +[](Console& console, const Args&) { return console.list_batches(); });
  verbs.ask<selftest::BatchInfo>(
      console_row("lst batch_info", "a batch", kReads, {must_have("batch"), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.batch_info(text_of(args, "batch"));
      });
  verbs.ask<selftest::TestInfo>(
      console_row("lst test_info", "a test of it", kReads,
                  {must_have("batch"), must_have("test", kNumber), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.test_info(text_of(args, "batch"), number_of(args, "test"));
      });
  verbs.ask<std::vector<selftest::NodeInfo>>(
      console_row("lst batch_nodes", "its nodes", kReads,
                  {must_have("batch"), must_have("test", kNumber), must_have("servers", kFlag),
                   must_have("states", kNumber), kKeyArg}),
      +[](Console& console, const Args& args) {
        return console.batch_nodes(text_of(args, "batch"), number_of(args, "test"),
                                   args.value("servers", false),
                                   static_cast<selftest::NodeStates>(number_of(args, "states")));
      });
}

void add_tests(Verbs& verbs, ConsoleDesk& desk) {
  verbs.add(
      console_row("lst add_test", "describe a test", kChanges, {kKeyArg, must_have("test", kAny)}),
      [&desk](const Args& args, VerbToken token) {
        auto test = lst::from_json<selftest::AddTest>(Json(args.at("test")));
        if (!test) return token.finish(lst::refusal_json({EINVAL, test.error().what}));
        desk.transact(
            number_of(args, "key"),
            [test = std::move(*test)](Console& console, lnet::Node&, WhenDone when_done) {
              return console.add_test(test, std::move(when_done));
            },
            [token = std::move(token)](const Told<TransactionResult>& told) mutable {
              finish(token, told);
            });
      });
}

}  // namespace

void add_console_verbs(runtime::VerbTable& table, ConsoleDesk& desk, const lst::ConsoleHost& host) {
  Verbs verbs(table, desk);
  add_sessions(verbs, desk, host);
  add_groups(verbs);
  add_batches(verbs);
  add_tests(verbs, desk);
  for (const lst::ConsoleCall& call : lst::console_calls())
    verbs.transact(call);
}

}  // namespace plnet::apps

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/console_json.hpp"

#include <cerrno>
#include <type_traits>

#include <fmt/format.h>

#include "apps/lnet-selftest/lst/json_fields.hpp"
#include "lib/lnet/names/nid64.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lst {
namespace {

using selftest::AddTest;
using selftest::BatchInfo;
using selftest::BrwTest;
using selftest::GroupInfo;
using selftest::NodeInfo;
using selftest::NodeResult;
using selftest::PingSeen;
using selftest::PingTest;
using selftest::QuerySeen;
using selftest::SessionInfo;
using selftest::StateCounts;
using selftest::StatSeen;
using selftest::TestInfo;
using selftest::TransactionResult;

// No answer of a verb has a field of this name.
constexpr const char* kRefusal = "refusal";

// One list of fields for each type: both directions use it.
template <class Walk>
void walk(Walk& fields, same_as_decayed<ConsoleHost> auto& host) {
  fields("instance", host.instance);
  fields("key", host.key);
  fields("has_session", host.has_session);
  fields("background", host.background);
  fields("session", host.session);
  fields("left_s", host.left_s);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<Refusal> auto& refusal) {
  fields("errno", refusal.number);
  fields("why", refusal.why);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<selftest::SessionId> auto& id) {
  fields("nid", id.nid);
  fields("stamp", id.stamp);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<SessionInfo> auto& session) {
  fields("id", session.id);
  fields("name", session.name);
  fields("key", session.key);
  fields("features", session.features);
  fields("timeout_s", session.timeout_s);
  fields("force", session.force);
  fields("nodes", session.nodes);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<StateCounts> auto& counts) {
  fields("active", counts.active);
  fields("busy", counts.busy);
  fields("down", counts.down);
  fields("unknown", counts.unknown);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<GroupInfo> auto& group) {
  fields("name", group.name);
  fields("nodes", group.nodes);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<NodeInfo> auto& node) {
  fields("id", node.id);
  fields("state", node.state);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<BatchInfo> auto& batch) {
  fields("id", batch.id);
  fields("name", batch.name);
  fields("tests", batch.tests);
  fields("state", batch.state);
  fields("clients", batch.clients);
  fields("servers", batch.servers);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<TestInfo> auto& test) {
  fields("service", test.service);
  fields("loop", test.loop);
  fields("concurrency", test.concurrency);
  fields("clients", test.clients);
  fields("servers", test.servers);
}
template <class Walk>
void walk(Walk& /*fields*/, same_as_decayed<PingTest> auto& /*test*/) {}
template <class Walk>
void walk(Walk& fields, same_as_decayed<BrwTest> auto& test) {
  fields("operation", test.operation);
  fields("check", test.check);
  fields("length", test.length);
  fields("client_offset", test.client_offset);
  fields("server_offset", test.server_offset);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<AddTest> auto& test) {
  fields("batch", test.batch);
  fields("from", test.from);
  fields("to", test.to);
  fields("loop", test.loop);
  fields("concurrency", test.concurrency);
  fields("distribute", test.distribute);
  fields("span", test.span);
  fields("nodes_know_discard", test.nodes_know_discard);
  fields.one_of(test.test, Named<PingTest>{"ping"}, Named<BrwTest>{"brw"});
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<PingSeen> auto& ping) {
  fields("timeout_s", ping.timeout_s);
  fields("session_name", ping.session_name);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<QuerySeen> auto& query) {
  fields("active", query.active);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<StatSeen> auto& stat) {
  fields("running_ms", stat.framework.running_ms);
  fields("active_batches", stat.framework.active_batches);
  fields("zombie_sessions", stat.framework.zombie_sessions);
  fields("brw_errors", stat.framework.brw_errors);
  fields("ping_errors", stat.framework.ping_errors);
  fields("rpc_errors", stat.rpc.errors);
  fields("rpcs_sent", stat.rpc.sent);
  fields("rpcs_received", stat.rpc.received);
  fields("rpcs_dropped", stat.rpc.dropped);
  fields("rpcs_expired", stat.rpc.expired);
  fields("bulk_get", stat.rpc.bulk_got);
  fields("bulk_put", stat.rpc.bulk_put);
  fields("messages_alloc", stat.lnet.messages_alloc);
  fields("messages_max", stat.lnet.messages_max);
  fields("errors", stat.lnet.errors);
  fields("send_count", stat.lnet.send_count);
  fields("receive_count", stat.lnet.receive_count);
  fields("route_count", stat.lnet.route_count);
  fields("drop_count", stat.lnet.drop_count);
  fields("send_length", stat.lnet.send_length);
  fields("receive_length", stat.lnet.receive_length);
  fields("route_length", stat.lnet.route_length);
  fields("drop_length", stat.lnet.drop_length);
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<NodeResult> auto& node) {
  fields("id", node.id);
  fields("state", node.state);
  fields("rpc_errno", node.rpc_errno);
  fields("status", node.status);
  fields("refused", node.refused);
  fields("session", node.session);
  fields.one_of(node.seen, Named<PingSeen>{"ping"}, Named<QuerySeen>{"query"},
                Named<StatSeen>{"stat"});
}
template <class Walk>
void walk(Walk& fields, same_as_decayed<TransactionResult> auto& result) {
  fields("kind", result.kind);
  fields("nodes", result.nodes);
  fields("rpcs_failed", result.rpcs_failed);
  fields("refused", result.refused);
  fields("rpc_errno", result.rpc_errno);
  fields("framework_errno", result.framework_errno);
  fields("ended_errno", result.ended_errno);
  fields("features", result.features);
  fields("active", result.active);
  fields("busy", result.busy);
  fields("unknown", result.unknown);
  fields("running", result.running);
  fields("idle", result.idle);
}

class Writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    json_[name] = json_of(value);
  }
  template <class Variant, class... Names>
  void one_of(const Variant& value, Names... names) {
    (write_if(value, names), ...);
  }
  template <class T>
  [[nodiscard]] static Json json_of(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return static_cast<std::uint32_t>(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_same_v<T, lnet::ProcessId>) {
      return lnet::text_of(value);
    } else if constexpr (std::is_same_v<T, selftest::Name>) {
      return std::string(selftest::text_of(value));
    } else if constexpr (is_list<T>) {
      Json list = Json::array();
      for (const auto& each : value)
        list.push_back(json_of(each));
      return list;
    } else {
      Writer writer;
      walk(writer, value);
      return std::move(writer.json_);
    }
  }

 private:
  template <class Variant, class T>
  void write_if(const Variant& value, Named<T> name) {
    if (const T* const is = std::get_if<T>(&value)) json_[name.text] = json_of(*is);
  }

  Json json_ = Json::object();
};

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {
    if (!json.is_object()) fail("an object");
  }

  template <class T>
  void operator()(const char* name, T& value) {
    if (error_) return;
    const auto found = json_.find(name);
    if (found == json_.end()) return fail(fmt::format("field '{}'", name));
    auto read = value_of<T>(*found);
    if (!read) return fail(fmt::format("field '{}': {}", name, read.error().what));
    value = std::move(*read);
  }
  template <class Variant, class... Names>
  void one_of(Variant& value, Names... names) {
    (read_if(value, names), ...);
  }
  template <class T>
  [[nodiscard]] static Outcome<T> value_of(const Json& json) {
    if constexpr (is_list<T>) {
      if (!json.is_array()) return failure(Errc::kInvalid, "expected a list");
      T list;
      for (const Json& each : json) {
        auto read = value_of<typename T::value_type>(each);
        if (!read) return std::unexpected(std::move(read.error()));
        list.push_back(std::move(*read));
      }
      return list;
    } else if constexpr (is_plain<T>) {
      return plain_of<T>(json);
    } else {
      Reader reader(json);
      T value;
      walk(reader, value);
      if (reader.error_) return std::unexpected(std::move(*reader.error_));
      return value;
    }
  }

 private:
  template <class Variant, class T>
  void read_if(Variant& value, Named<T> name) {
    if (error_ || !json_.contains(name.text)) return;
    T is;
    (*this)(name.text, is);
    value = std::move(is);
  }
  void fail(std::string what) { error_.emplace(Errc::kInvalid, fmt::format("expected {}", what)); }

  const Json& json_;
  std::optional<Error> error_;
};

}  // namespace

Json refusal_json(const Refusal& refusal) {
  return {{kRefusal, {{"errno", refusal.number}, {"why", refusal.why}}}};
}

std::optional<Refusal> refusal_of(const Json& answer) {
  if (!answer.is_object() || !answer.contains(kRefusal)) return std::nullopt;
  auto read = from_json<Refusal>(answer[kRefusal]);
  if (!read) return Refusal{EPROTO, std::move(read.error().what)};
  return std::move(*read);
}

Json to_json(const ConsoleHost& host) {
  return Writer::json_of(host);
}
Json to_json(const SessionInfo& session) {
  return Writer::json_of(session);
}
Json to_json(const StateCounts& counts) {
  return Writer::json_of(counts);
}
Json to_json(const GroupInfo& group) {
  return Writer::json_of(group);
}
Json to_json(const std::vector<NodeInfo>& nodes) {
  return Writer::json_of(nodes);
}
Json to_json(const std::vector<std::string>& names) {
  return Writer::json_of(names);
}
Json to_json(const BatchInfo& batch) {
  return Writer::json_of(batch);
}
Json to_json(const TestInfo& test) {
  return Writer::json_of(test);
}
Json to_json(const AddTest& test) {
  return Writer::json_of(test);
}
Json to_json(const TransactionResult& result) {
  return Writer::json_of(result);
}

#define PLNET_READS(Type)                     \
  template <>                                 \
  Outcome<Type> from_json(const Json& json) { \
    return Reader::value_of<Type>(json);      \
  }
PLNET_READS(ConsoleHost)
PLNET_READS(Refusal)
PLNET_READS(SessionInfo)
PLNET_READS(GroupInfo)
PLNET_READS(std::vector<NodeInfo>)
PLNET_READS(std::vector<std::string>)
PLNET_READS(BatchInfo)
PLNET_READS(TestInfo)
PLNET_READS(AddTest)
PLNET_READS(TransactionResult)
#undef PLNET_READS

}  // namespace plnet::lst

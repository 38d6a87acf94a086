// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/protocol.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace plnet::runtime {
namespace {

constexpr std::string_view kRequestForm =
    R"(expected {"v":1,"id":NUMBER,"verb":"WORDS","args":{…}})";
// Limit of client text quoted in our error messages.
constexpr std::size_t kEchoMax = 40;

std::string echo(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kEchoMax))
    shown += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kEchoMax ? shown + "…" : shown;
}

// Checked before parsing: the parser handles any depth, but printing and destroying its result
// recurse.
unsigned depth_of(std::string_view text) {
  unsigned depth = 0;
  unsigned deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

// Detects duplicate keys of an object, since readers disagree on which one counts, and drops keys
// beyond the limit: an ordered object searches all its keys for each new one.
class KeyWatch {
 public:
  explicit KeyWatch(std::size_t keys_max) : keys_max_(keys_max) {}

  bool operator()(Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == Json::parse_event_t::key && !open_.empty()) {
      return note(parsed.get_ref<const std::string&>());
    }
    return true;
  }
  [[nodiscard]] const std::string& twice() const { return twice_; }
  [[nodiscard]] bool too_many() const { return too_many_; }

 private:
  [[nodiscard]] bool note(const std::string& key) {
    if (open_.back().size() == keys_max_) {
      too_many_ = true;
      return false;
    }
    if (!open_.back().insert(key).second && twice_.empty()) twice_ = "'" + echo(key) + "'";
    return true;
  }

  const std::size_t keys_max_;
  std::vector<std::set<std::string>> open_;
  std::string twice_;
  bool too_many_ = false;
};

Json fault_json(const VerbFault& fault) {
  Json json = {{"errno", wire_errno(fault.code)}, {"descr", fault.what}};
  if (!fault.where.empty()) json["where"] = fault.where;
  if (!fault.entity.empty()) json["entity"] = fault.entity;
  if (fault.seq_no >= 0) json["seq_no"] = fault.seq_no;
  return json;
}

VerbFault fault_of(const Json& json) {
  VerbFault fault{Errc::kIo, "the server gave no reason", {}, {}, -1};
  if (!json.is_object()) return fault;
  const auto text = [&json](const char* key, std::string& out) {
    const auto found = json.find(key);
    if (found != json.end() && found->is_string()) out = found->get<std::string>();
  };
  const auto number = [&json](const char* key) -> std::int64_t {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  };
  const std::int64_t code = number("errno");
  if (code < 0 && code > -4096) fault.code = errc_of_errno(static_cast<int>(-code));
  text("descr", fault.what);
  text("where", fault.where);
  text("entity", fault.entity);
  if (json.contains("seq_no")) fault.seq_no = number("seq_no");
  return fault;
}

VerbError error_of(const Json& json) {
  std::vector<VerbFault> faults{fault_of(json)};
  if (json.is_object() && json.contains("more") && json["more"].is_array()) {
    for (const Json& one : json["more"]) {
      if (faults.size() == kFaultsMax) break;
      faults.push_back(fault_of(one));
    }
  }
  return VerbError(std::move(faults));
}

std::string refuse_unknown(const Json& object, std::span<const std::string_view> known,
                           std::string_view what) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      return fmt::format("{}: unknown field '{}'", what, echo(key));
    }
  }
  return {};
}

std::string dump_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

// The checks of a request, in order; "" if all pass.
std::string take_request(Json& json, ControlRequest& request, std::optional<std::int64_t>& id) {
  static constexpr auto kFields = std::to_array<std::string_view>({"v", "id", "verb", "args"});
  if (!json.is_object()) return "the line is not an object";
  if (json.contains("id") && json["id"].is_number_integer() &&
      json["id"].get<std::int64_t>() >= 0) {
    id = json["id"].get<std::int64_t>();
  }
  if (!json.contains("v")) return "field 'v' (the version) is missing";
  if (!json["v"].is_number_integer()) return "field 'v' is not a number";
  if (!id) return "field 'id' is missing or not a number from 0 up";
  if (auto unknown = refuse_unknown(json, kFields, "request"); !unknown.empty()) return unknown;
  if (!json.contains("verb")) return "field 'verb' is missing";
  if (!json["verb"].is_string()) return "field 'verb' is not a string";
  request.verb = json["verb"].get<std::string>();
  if (request.verb.empty() || request.verb.size() > kVerbLengthMax) {
    return fmt::format("field 'verb' has {} characters, allowed are 1 to {}", request.verb.size(),
                       kVerbLengthMax);
  }
  if (!json.contains("args")) return {};
  if (!json["args"].is_object()) return "field 'args' is not an object";
  request.args = nlohmann::json(json["args"]);
  return {};
}

}  // namespace

Outcome<Json> parse_bounded_json(std::string_view text, std::string_view what,
                                 std::size_t keys_max) {
  if (const unsigned depth = depth_of(text); depth > kDepthMax) {
    return failure(Errc::kTooBig, fmt::format("{}: nested {} deep, allowed are {} levels", what,
                                              depth, kDepthMax));
  }
  try {
    KeyWatch keys(keys_max);
    Json json = Json::parse(text, [&keys](int, Json::parse_event_t event, const Json& parsed) {
      return keys(event, parsed);
    });
    if (keys.too_many()) {
      return failure(Errc::kTooBig,
                     fmt::format("{}: an object has more than {} fields", what, keys_max));
    }
    if (!keys.twice().empty()) {
      return failure(Errc::kMalformed,
                     fmt::format("{}: field {} is given twice", what, keys.twice()));
    }
    return json;
  } catch (const Json::parse_error& error) {
    return failure(Errc::kMalformed,
                   fmt::format("{}: not JSON: error at byte {}", what, error.byte));
  } catch (const Json::exception& error) {  // a number that does not fit
    return failure(Errc::kMalformed, fmt::format("{}: not JSON: {}", what, echo(error.what())));
  }
}

std::expected<ControlRequest, RequestRefused> parse_request(std::string_view line) {
  std::optional<std::int64_t> id;
  const auto refuse = [&id](Errc code, const std::string& why) {
    return std::unexpected(RequestRefused{{code, fmt::format("{}; {}", why, kRequestForm)}, id});
  };
  if (line.empty()) return refuse(Errc::kMalformed, "empty line");
  auto json = parse_bounded_json(line, "request", kFieldsMax);
  if (!json) return refuse(json.error().code, json.error().what);
  ControlRequest request;
  const std::string wrong = take_request(*json, request, id);
  if (json->is_object() && json->contains("v") && (*json)["v"].is_number_integer() &&
      (*json)["v"] != kProtocolVersion) {
    return refuse(Errc::kVersion, fmt::format("version {} is not supported, only {}",
                                              (*json)["v"].dump(), kProtocolVersion));
  }
  if (!wrong.empty()) return refuse(Errc::kMalformed, wrong);
  request.id = id.value_or(0);  // take_request() has checked it
  return request;
}

std::string encode_request(const ControlRequest& request) {
  return dump_line({{"v", kProtocolVersion},
                    {"id", request.id},
                    {"verb", request.verb},
                    {"args", request.args}});
}

std::string encode_reply(std::optional<std::int64_t> id, const VerbReply& reply) {
  Json json = {{"v", kProtocolVersion}, {"id", nullptr}};
  if (id) json["id"] = *id;
  if (reply) {
    json["result"] = *reply;
    std::string line = dump_line(json);
    if (line.size() <= kReplyBytesMax) return line;
    const auto megabytes = line.size() >> 20;
    return encode_reply(id, std::unexpected(VerbError(Error{
                                Errc::kTooBig, fmt::format("the answer has {} MiB, allowed are {}; "
                                                           "ask for less of it",
                                                           megabytes, kReplyBytesMax >> 20)})));
  }
  const auto& faults = reply.error().faults;
  Json error = fault_json(faults.front());
  for (std::size_t i = 1; i < faults.size() && i < kFaultsMax; ++i)
    error["more"].push_back(fault_json(faults[i]));
  json["error"] = std::move(error);
  return dump_line(json);
}

Outcome<ControlReply> parse_reply(std::string_view line) {
  static constexpr auto kFields = std::to_array<std::string_view>({"v", "id", "result", "error"});
  auto json = parse_bounded_json(line, "reply of the node");
  if (!json) return std::unexpected(std::move(json.error()));
  const auto refuse = [](const std::string& why) {
    return failure(Errc::kProtocol, "reply of the node: " + why);
  };
  if (!json->is_object()) return refuse("not an object");
  if (!json->contains("v") || (*json)["v"] != kProtocolVersion) {
    return failure(Errc::kVersion, fmt::format("reply of the node: not version {} of the protocol; "
                                               "lnetctl and the node are of different releases",
                                               kProtocolVersion));
  }
  if (auto unknown = refuse_unknown(*json, kFields, "reply of the node"); !unknown.empty()) {
    return failure(Errc::kProtocol, unknown);
  }
  ControlReply reply;
  if (!json->contains("id")) return refuse("field 'id' is missing");
  const Json& id = (*json)["id"];
  if (id.is_number_integer()) {
    reply.id = id.get<std::int64_t>();
  } else if (!id.is_null()) {
    return refuse("field 'id' is neither a number nor null");
  }
  if (json->contains("result") == json->contains("error")) {
    return refuse("expected either 'result' or 'error'");
  }
  if (json->contains("result")) {
    reply.reply = std::move((*json)["result"]);
  } else {
    reply.reply = std::unexpected(error_of((*json)["error"]));
  }
  return reply;
}

bool LineBuffer::feed(std::string_view bytes) {
  if (lost_) return false;
  if (start_ > 0) {  // the bytes handed out by next() are consumed
    bytes_.erase(0, start_);
    scanned_ -= start_;
    start_ = 0;
  }
  bytes_.append(bytes);
  // The last line has no end yet. Earlier lines are checked here too, since each must keep to the
  // limit.
  std::size_t line_start = 0;
  std::size_t from = scanned_;
  while (true) {
    const std::size_t newline = bytes_.find('\n', from);
    const std::size_t line_end = newline == std::string::npos ? bytes_.size() : newline;
    if (line_end - line_start > line_max_) {
      lost_ = true;
      bytes_ = {};
      start_ = scanned_ = 0;
      return false;
    }
    if (newline == std::string::npos) return true;
    line_start = from = newline + 1;
  }
}

std::optional<std::string_view> LineBuffer::next() {
  const std::size_t newline = bytes_.find('\n', scanned_);
  if (newline == std::string::npos) {
    scanned_ = bytes_.size();
    return std::nullopt;
  }
  std::string_view line(bytes_.data() + start_, newline - start_);
  start_ = scanned_ = newline + 1;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace plnet::runtime

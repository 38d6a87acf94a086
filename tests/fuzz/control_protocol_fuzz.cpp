// SPDX-License-Identifier: BSD-3-Clause
// Everything that the control socket takes from a stranger: a stream cut into pieces, lines,
// requests, replies, and what is printed of them. Holds that whatever is accepted survives being
// encoded and read again.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "lib/runtime/control/yaml_printer.hpp"

namespace {

using namespace plnet;
using namespace plnet::runtime;

constexpr std::size_t kLineMax = 4096;

const VerbTable& table() {
  static const VerbTable made = [] {
    VerbTable rows;
    rows.add({.words = "set",
              .args = {{.name = "text", .required = true},
                       {.name = "number", .kind = OptionKind::kNumber},
                       {.name = "flag", .kind = OptionKind::kFlag},
                       {.name = "list", .kind = OptionKind::kList},
                       {.name = "any", .kind = OptionKind::kAny}},
              .access = VerbAccess::kChanges},
             [](const nlohmann::json& args, const Caller&) -> VerbReply { return Json(args); });
    return rows;
  }();
  return made;
}

void check_reply(std::string_view line) {
  const auto reply = parse_reply(line);
  if (!reply) return;
  if (reply->reply) (void)print_yaml(*reply->reply);
  std::string encoded = encode_reply(reply->id, reply->reply);
  encoded.pop_back();  // the newline
  const auto again = parse_reply(encoded);
  PLNET_CHECK(again && again->id == reply->id, "a reply survives");
  PLNET_CHECK(again->reply.has_value() == reply->reply.has_value(), "success stays success");
  if (!reply->reply) {
    PLNET_CHECK(again->reply.error().faults.size() == reply->reply.error().faults.size(),
                "no fault is lost");
  }
}

void check_request(std::string_view line) {
  const auto request = parse_request(line);
  if (!request) {
    std::string answer =
        encode_reply(request.error().id, std::unexpected(VerbError(request.error().error)));
    answer.pop_back();
    PLNET_CHECK(parse_reply(answer).has_value(), "a refusal is a reply");
    return;
  }
  std::string encoded = encode_request(*request);
  encoded.pop_back();  // the newline
  const auto again = parse_request(encoded);
  PLNET_CHECK(again && again->id == request->id && again->verb == request->verb,
              "a request survives");
  PLNET_CHECK(again->args == request->args, "and so do its arguments");
  unsigned answers = 0;
  table().run(*request, Caller{.may_change = true}, [&answers](const VerbReply& reply) {
    ++answers;
    std::string answer = encode_reply(1, reply);
    answer.pop_back();
    check_reply(answer);
  });
  PLNET_CHECK(answers == 1, "each request is answered once");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  LineBuffer buffer(kLineMax);
  while (!rest.empty()) {
    // The piece's own first byte says how long it is: the fuzzer learns to cut where it hurts.
    const std::size_t piece = 1 + static_cast<unsigned char>(rest.front()) * 4U;
    if (!buffer.feed(rest.substr(0, piece))) {
      PLNET_CHECK(!buffer.next() && buffer.size() == 0, "a lost stream keeps nothing");
      break;
    }
    rest.remove_prefix(std::min(piece, rest.size()));
    while (const auto line = buffer.next()) {
      PLNET_CHECK(line->size() <= kLineMax, "lines keep to their limit");
      check_request(*line);
      check_reply(*line);
    }
  }
  return 0;
}

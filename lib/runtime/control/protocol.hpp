// SPDX-License-Identifier: BSD-3-Clause
// The protocol of the control socket: JSON objects, one to a line.
//
//   request  {"v":1,"id":7,"verb":"cpt show","args":{…}}
//   reply    {"v":1,"id":7,"result":{…}}
//            {"v":1,"id":7,"error":{"errno":-22,"descr":"…","where":"file:line:col",…}}
//
// An error may also carry "entity" and "seq_no" (its subject) and "more", a list of further errors
// of the same form. All input is checked: fields that are unknown, duplicate or of a wrong type are
// refused by name.
#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/result.hpp"

namespace plnet::runtime {

inline constexpr std::int64_t kProtocolVersion = 1;
// A request may carry a configuration file: 16 MiB are some 100 000 peers.
inline constexpr std::size_t kRequestBytesMax = std::size_t{16} << 20;
// A reply may list them with all their counters.
inline constexpr std::size_t kReplyBytesMax = std::size_t{64} << 20;
// Bytes of one read from a socket.
inline constexpr std::size_t kReadPiece = std::size_t{64} << 10;
// Nesting of braces and brackets. The deepest document of lnetctl has 8 levels.
inline constexpr unsigned kDepthMax = 32;
inline constexpr std::size_t kVerbLengthMax = 64;
// Fields of one object in a request; the verb with the most arguments has some dozen.
inline constexpr std::size_t kFieldsMax = 64;
// Descriptors that one reply may carry.
inline constexpr std::size_t kHandedMax = 8;
// Errors that one reply lists: more than anybody corrects in one go.
inline constexpr std::size_t kFaultsMax = 100;

using Json = nlohmann::ordered_json;

// One failure, described for a person.
struct VerbFault {
  Errc code = Errc::kInvalid;
  std::string what;
  std::string where;         // file:line:col, "" = not in a file
  std::string entity;        // "route", "" = the subject of the command
  std::int64_t seq_no = -1;  // the user's own number of the item, -1 = none
};

// The failure of a verb: at least one fault. An Outcome's Error converts to it implicitly.
struct VerbError {
  VerbError() : faults(1) {}
  VerbError(Error error)  // NOLINT(google-explicit-constructor): handlers return Outcome<Json> too
      : faults{VerbFault{error.code, std::move(error.what), {}, {}, -1}} {}
  explicit VerbError(std::vector<VerbFault> all) : faults(std::move(all)) {
    if (faults.empty()) faults.emplace_back();
  }

  std::vector<VerbFault> faults;
};

using VerbReply = std::expected<Json, VerbError>;

struct ControlRequest {
  std::int64_t id = 0;
  std::string verb;
  nlohmann::json args = nlohmann::json::object();
};

// A request that cannot be parsed, with its `id` if that was readable.
struct RequestRefused {
  Error error;
  std::optional<std::int64_t> id;
};

// `line` without its newline. Bounded in time and memory by the length of the line.
[[nodiscard]] std::expected<ControlRequest, RequestRefused> parse_request(std::string_view line);

// Each ends with a newline. A result that is too large becomes an error that says so.
[[nodiscard]] std::string encode_request(const ControlRequest& request);
[[nodiscard]] std::string encode_reply(std::optional<std::int64_t> id, const VerbReply& reply);

struct ControlReply {
  std::optional<std::int64_t> id;  // none: the server could not read the id of the refused request
  VerbReply reply;
};
// The client's side: as strict as parse_request(), except that an error may have fields that a
// newer server added.
[[nodiscard]] Outcome<ControlReply> parse_reply(std::string_view line);

// Parses JSON text of at most kDepthMax levels, without duplicate keys, with a bounded number of
// keys per object. `what` names it in errors.
[[nodiscard]] Outcome<Json> parse_bounded_json(
    std::string_view text, std::string_view what,
    std::size_t keys_max = std::numeric_limits<std::size_t>::max());

// The errno in replies: negative.
[[nodiscard]] inline int wire_errno(Errc code) {
  return -errno_of(code);
}

// Cuts a stream of bytes into lines.
class LineBuffer {
 public:
  explicit LineBuffer(std::size_t line_max) : line_max_(line_max) {}

  // Adds bytes. False once a line is longer than the limit: the start of the next line is then
  // unknown, the buffer stays empty, and the connection must be closed.
  [[nodiscard]] bool feed(std::string_view bytes);
  // The next whole line without its newline (and without a carriage return before it). The view is
  // valid until the next call of feed().
  [[nodiscard]] std::optional<std::string_view> next();
  [[nodiscard]] bool has_line() const { return bytes_.find('\n', scanned_) != std::string::npos; }
  // Bytes that are kept, whole lines included.
  [[nodiscard]] std::size_t size() const { return bytes_.size() - start_; }

 private:
  std::size_t line_max_;
  std::string bytes_;
  std::size_t start_ = 0;    // of the line that next() returns next
  std::size_t scanned_ = 0;  // no newline between start_ and here
  bool lost_ = false;
};

}  // namespace plnet::runtime

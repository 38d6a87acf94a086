// SPDX-License-Identifier: BSD-3-Clause
// What a node can be asked to do: one row per verb. The server looks requests up here; whoever owns
// a part of the node adds that part's rows.
//
//   table.add({.verb = "log set", .access = VerbAccess::kChanges, .help = "set the log level",
//              .args = {{"level", ArgKind::kText, true}},
//              .handler = [&](const nlohmann::json& args, const Caller&) -> VerbReply { … }});
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::runtime {

// Who asks, as the kernel says.
struct Caller {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  pid_t pid = -1;
  std::vector<gid_t> groups{};  // supplementary
  bool may_change = false;
};

enum class VerbAccess : std::uint8_t { kReads, kChanges };
enum class ArgKind : std::uint8_t { kText, kNumber, kFlag, kTexts, kAny };

struct ArgRow {
  std::string name;
  ArgKind kind = ArgKind::kText;
  bool required = false;
};

// Those that must be given.
[[nodiscard]] inline ArgRow text_arg(std::string name) {
  return {std::move(name), ArgKind::kText, true};
}
[[nodiscard]] inline ArgRow number_arg(std::string name) {
  return {std::move(name), ArgKind::kNumber, true};
}
[[nodiscard]] inline ArgRow flag_arg(std::string name) {
  return {std::move(name), ArgKind::kFlag, true};
}

// The right to answer one request later, from the loop's thread (from others by EventLoop::post).
// Answering a client that has gone does nothing; a token that is dropped unused answers kAborted.
class VerbToken {
 public:
  using Finish = std::function<void(const VerbReply&)>;

  explicit VerbToken(Finish finish) : finish_(std::move(finish)) {}
  ~VerbToken();
  VerbToken(VerbToken&& other) noexcept : finish_(std::exchange(other.finish_, nullptr)) {}
  VerbToken& operator=(VerbToken&&) = delete;
  VerbToken(const VerbToken&) = delete;
  VerbToken& operator=(const VerbToken&) = delete;

  // Once.
  void finish(const VerbReply& reply);

 private:
  Finish finish_;
};

using VerbHandler = std::function<VerbReply(const nlohmann::json& args, const Caller& caller)>;
using AsyncVerbHandler =
    std::function<void(const nlohmann::json& args, const Caller& caller, VerbToken token)>;

struct VerbRow {
  std::string verb;
  VerbAccess access = VerbAccess::kChanges;
  std::string help;
  std::vector<ArgRow> args{};  // all that the handler understands; others are refused by name
  bool frequent = false;       // programs ask for it all the time, and nothing is configured by it
  VerbHandler handler{};       // one of the two
  AsyncVerbHandler async_handler{};
};

class VerbTable {
 public:
  // A verb is added once; start-up only.
  void add(VerbRow row);
  [[nodiscard]] const VerbRow* find(std::string_view verb) const;
  [[nodiscard]] const std::map<std::string, VerbRow, std::less<>>& rows() const { return rows_; }

  // Is told of each verb that may change something and went well, before the answer goes out;
  // `args` is args_text(). Start-up only.
  using Audit =
      std::function<void(const VerbRow& row, const Caller& caller, const std::string& args)>;
  void set_audit(Audit audit) { audit_ = std::move(audit); }

  // Checks who asks and what for, then runs the handler; `finish` is called once, now or later.
  void run(const ControlRequest& request, const Caller& caller, VerbToken::Finish finish) const;

 private:
  [[nodiscard]] VerbToken::Finish audited(const VerbRow& row, const Caller& caller,
                                          const nlohmann::json& args,
                                          VerbToken::Finish finish) const;

  std::map<std::string, VerbRow, std::less<>> rows_;
  Audit audit_;
};

// Checks `args` against the rows: each known, of the right kind, the required ones there.
[[nodiscard]] Outcome<void> check_args(const VerbRow& row, const nlohmann::json& args);

}  // namespace plnet::runtime

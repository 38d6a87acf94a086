// SPDX-License-Identifier: BSD-3-Clause
// The verbs of a node: rows (lib/runtime/verbs) with their handlers. The server looks requests up
// here; each part of the node adds its own verbs.
//
//   table.add(verb_rows::kNode["log set"],
//             [&](const nlohmann::json& args, const Caller&) -> VerbReply { … });
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
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::runtime {

// The credentials of a client, as the kernel reports them.
struct Caller {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  pid_t pid = -1;
  std::vector<gid_t> groups{};  // supplementary
  bool may_change = false;
  // Descriptors added here go to the caller with the answer. Null: the caller cannot get any.
  std::vector<Descriptor>* handed = nullptr;
};

// The right to answer one request later, on the loop's thread (from others by EventLoop::post).
// Answering a client that has gone does nothing; an unused token answers kAborted at its end.
class VerbToken {
 public:
  using Finish = std::function<void(const VerbReply&)>;

  explicit VerbToken(Finish finish) : finish_(std::move(finish)) {}
  ~VerbToken();
  VerbToken(VerbToken&& other) noexcept : finish_(std::exchange(other.finish_, nullptr)) {}
  VerbToken& operator=(VerbToken&&) = delete;
  VerbToken(const VerbToken&) = delete;
  VerbToken& operator=(const VerbToken&) = delete;

  // Call once.
  void finish(const VerbReply& reply);

 private:
  Finish finish_;
};

using VerbHandler = std::function<VerbReply(const nlohmann::json& args, const Caller& caller)>;
using AsyncVerbHandler =
    std::function<void(const nlohmann::json& args, const Caller& caller, VerbToken token)>;

// A verb with one of the two handlers.
struct Verb {
  VerbRow row;
  VerbHandler handler{};
  AsyncVerbHandler async_handler{};
};

class VerbTable {
 public:
  // A verb is added once; start-up only. The texts of the row outlive the table.
  void add(const VerbRow& row, VerbHandler handler);
  void add(const VerbRow& row, AsyncVerbHandler handler);
  [[nodiscard]] const Verb* find(std::string_view words) const;

  // Called for each successful verb that may change something, before the answer is sent; `args` is
  // args_text(). Start-up only.
  using Audit =
      std::function<void(const VerbRow& row, const Caller& caller, const std::string& args)>;
  void set_audit(Audit audit) { audit_ = std::move(audit); }

  // Checks the caller's rights and the arguments, then runs the handler; `finish` is called once,
  // now or later.
  void run(const ControlRequest& request, const Caller& caller, VerbToken::Finish finish) const;

 private:
  void insert(Verb verb);
  [[nodiscard]] VerbToken::Finish audited(const VerbRow& row, const Caller& caller,
                                          const nlohmann::json& args,
                                          VerbToken::Finish finish) const;

  std::map<std::string_view, Verb> verbs_;
  Audit audit_;
};

// The name in a request of an option or an argument.
[[nodiscard]] std::string arg_name(std::string_view option);
// Checks `args` against the row: each is known and of the right kind, and required ones are
// present.
[[nodiscard]] Outcome<void> check_args(const VerbRow& row, const nlohmann::json& args);

}  // namespace plnet::runtime

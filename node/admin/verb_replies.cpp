// SPDX-License-Identifier: BSD-3-Clause
#include "node/admin/verb_replies.hpp"

#include <utility>
#include <vector>

namespace plnet::node {

using runtime::VerbError;
using runtime::VerbFault;

std::unexpected<VerbError> refuse(const runtime::ConfigErrors& errors, bool with_place) {
  std::vector<VerbFault> faults;
  for (const auto& error : errors.list()) {
    VerbFault fault{Errc::kInvalid, error.what, {}, {}, -1};
    if (with_place) {
      fault.what = error.text();
      fault.where = error.where();
    }
    faults.push_back(std::move(fault));
  }
  return std::unexpected(VerbError(std::move(faults)));
}

runtime::VerbReply reply_of(Outcome<void> done) {
  if (!done) return std::unexpected(VerbError(std::move(done.error())));
  return runtime::Json::object();
}

lnet::Reply<void> answer_of(runtime::VerbToken token) {
  return [token = std::move(token)](Outcome<void>&& done) mutable {
    token.finish(reply_of(std::move(done)));
  };
}

}  // namespace plnet::node

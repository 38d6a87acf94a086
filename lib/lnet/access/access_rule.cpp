// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/access/access_rule.hpp"

namespace plnet::lnet {

std::string_view name_of(AccessAction action) {
  switch (action) {
    case AccessAction::kAllow: return "allow";
    case AccessAction::kDeny: return "deny";
  }
  return "";
}

std::string_view name_of(AccessUse use) {
  switch (use) {
    case AccessUse::kAll: return "all";
    case AccessUse::kConnect: return "connect";
    case AccessUse::kForward: return "forward";
  }
  return "";
}

bool matches(const AccessRule& rule, const AccessQuestion& question) {
  if (rule.use != AccessUse::kAll && rule.use != question.use) return false;
  if (rule.from != kNetAny && rule.from != question.from) return false;
  if (rule.to != kNetAny && rule.to != question.destination.net()) return false;
  if (rule.source && !rule.source->matches(question.source)) return false;
  return !rule.destination || rule.destination->matches(question.destination);
}

}  // namespace plnet::lnet

// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/file/known_nids.hpp"

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::trace {

std::optional<lnet::Nid> KnownNids::find(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (const auto found = nids_.find(text); found != nids_.end()) return found->second;
  const auto nid = lnet::parse_nid(text);
  if (!nid) return std::nullopt;
  if (nids_.size() < kTextsMax) nids_.emplace(text, *nid);
  return *nid;
}

}  // namespace plnet::trace

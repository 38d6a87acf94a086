// SPDX-License-Identifier: BSD-3-Clause
// The fields of a record that a packet of a capture file has no place for, as text in the packet's
// comment: "lnetdump dir=DROP cause=dropped_nid hop=10.0.0.1@tcp src=… dst=…".
#pragma once

#include <string>
#include <string_view>

#include "lib/trace/file/known_nids.hpp"
#include "lib/trace/record/record.hpp"

namespace plnet::trace {

[[nodiscard]] std::string comment_of(const RecordHeader& header);
// Comments of other programs change nothing.
void apply_comment(std::string_view comment, RecordHeader& header, KnownNids& nids);

}  // namespace plnet::trace

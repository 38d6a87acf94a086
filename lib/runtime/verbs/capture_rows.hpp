// SPDX-License-Identifier: BSD-3-Clause
// The verb by which lnetdump begins a capture. It is no command of lnetctl: the answer carries
// descriptors, and the capture ends when they are closed.
#pragma once

#include <string_view>

#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::runtime {

namespace verb_rows {

using namespace row_makers;

inline constexpr std::array kCaptureRows{
    VerbRow{.words = "capture start",
            .help = "capture messages into shared memory",
            .args = {arg("filter"), arg("program"), arg("snap", OptionKind::kNumber),
                     arg("ring_kib", OptionKind::kNumber), arg("keep"),
                     arg("states", OptionKind::kFlag)},
            .operation = "add",
            .entity = "capture"},
};

}  // namespace verb_rows

inline constexpr VerbRows kCaptureVerbs{verb_rows::kCaptureRows};

// Descriptors in the order in which they come with the answer.
enum class CaptureDescriptor : std::uint8_t {
  kRings,    // one ring after the other, `ring_bytes` each; can be mapped for reading only
  kCursors,  // a cursor for each ring, kCaptureCursorBytes apart; the reader writes it
  kLife,     // a socket: the end of either side ends the capture
};
inline constexpr std::size_t kCaptureDescriptors = 3;
inline constexpr std::size_t kCaptureCursorBytes = 64;

}  // namespace plnet::runtime

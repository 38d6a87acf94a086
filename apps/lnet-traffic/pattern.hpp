// SPDX-License-Identifier: BSD-3-Clause
// Payloads that can be verified without a copy: every byte follows from a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plnet::traffic {

void fill_pattern(std::span<std::byte> bytes, std::uint64_t key);
[[nodiscard]] bool is_pattern(std::span<const std::byte> bytes, std::uint64_t key);

// The key of the message with this number in that run.
[[nodiscard]] std::uint64_t pattern_key(std::uint64_t run, std::uint64_t sequence);

}  // namespace plnet::traffic

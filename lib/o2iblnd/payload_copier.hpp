// SPDX-License-Identifier: BSD-3-Clause
// Copies payload between messages and memory that the CPU should not copy itself.
#pragma once

#include <cstddef>
#include <span>

namespace plnet::o2iblnd {

class PayloadCopier {
 public:
  virtual ~PayloadCopier() = default;
  // Hot. As memcpy() does.
  virtual void copy(std::byte* to, std::span<const std::byte> from) = 0;
};

}  // namespace plnet::o2iblnd

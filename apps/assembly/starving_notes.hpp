// SPDX-License-Identifier: BSD-3-Clause
// What the log says of router buffers that starve: of what there is too little, who holds it, and
// what changes that.
#pragma once

#include <string>

#include "lib/lnet/move/pool_keeper.hpp"
#include "lib/runtime/admin/log.hpp"

namespace plnet::apps {

void say_starving(const lnet::StarvingNote& note, runtime::Log& log);

// Why there are no more of the class, and which command makes more.
[[nodiscard]] std::string bound_text(lnet::BufferClass of, lnet::PoolBound bound);

}  // namespace plnet::apps

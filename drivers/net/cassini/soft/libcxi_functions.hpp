// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions on software NICs. Only the shared object exports them: a program may also load
// the vendor's.
#pragma once

#include "drivers/net/cassini/soft/libcxi_further.hpp"

#ifdef PLNET_CXI_SHARED
#define PLNET_CXI_FUNCTION extern "C" __attribute__((visibility("default")))
#else
#define PLNET_CXI_FUNCTION extern "C" __attribute__((visibility("hidden")))
#endif

namespace plnet::cassini::libcxi {

#define PLNET_X(name, result, arguments) PLNET_CXI_FUNCTION result cxil_##name arguments;
PLNET_LIBCXI_ENTRIES(PLNET_X)  // of the shared object, which is one process
PLNET_LIBCXI_FUNCTIONS(PLNET_X)
PLNET_LIBCXI_FURTHER(PLNET_X)
#undef PLNET_X

}  // namespace plnet::cassini::libcxi

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "node/net/lab_nic.hpp"

namespace plnet::node {

extern const LabNic kKfiLabNic;

}  // namespace plnet::node

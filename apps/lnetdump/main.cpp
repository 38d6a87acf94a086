// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include "apps/lnetdump/lnetdump.hpp"

int main(int argc, char** argv) {
  return plnet::lnetdump::run(argc, argv, stdout, stderr);
}

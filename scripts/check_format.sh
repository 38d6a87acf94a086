#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks that every source file has clang-format's output.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files -co --exclude-standard '*.hpp' '*.cpp')
clang-format-19 --dry-run --Werror "${files[@]}"
echo "${#files[@]} files formatted"

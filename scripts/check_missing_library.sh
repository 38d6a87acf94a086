#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A machine without DPDK and libfabric: dependent parts are omitted with a reason, the rest is
# built.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/pc"
for folder in $(pkg-config --variable pc_path pkg-config | tr ':' ' '); do
  [ -d "$folder" ] || continue
  find "$folder" -maxdepth 1 -name '*.pc' ! -name 'libdpdk*' ! -name 'libfabric*' -exec ln -sf {} "$scratch/pc/" \;
done
export PKG_CONFIG_LIBDIR=$scratch/pc CXX=g++
meson setup "$scratch/build" -Dtests=false -Dbenchmarks=false -Db_lto=false >"$scratch/log" 2>&1 || {
  cat "$scratch/log"; exit 1; }
for part in 'lib/runtime/host/eal *: libdpdk' 'apps/lnet-router *: libdpdk' 'drivers/net/ofi *: libfabric'; do
  grep -q "$part .* is missing" "$scratch/log" || {
    echo "the summary does not say that $part is left out, and why"; tail -n 20 "$scratch/log"; exit 1; }
done
targets=$(ninja -C "$scratch/build" -t targets all)
grep -q '^apps/lnetctl/lnetctl:' <<<"$targets" || { echo "lnetctl is gone as well"; exit 1; }
! grep -q '^apps/lnet-router/lnet-router:' <<<"$targets" || { echo "lnet-router is still there"; exit 1; }
! grep -q '^drivers/net/ofi/' <<<"$targets" || { echo "drivers/net/ofi is still there"; exit 1; }
echo "without DPDK lnet-router is left out with its reason, lnetctl is built"

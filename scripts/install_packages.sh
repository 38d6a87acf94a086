#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the missing Debian packages of the given groups (build, check).
set -euo pipefail
list=$(dirname "$0")/packages.txt
wanted=()
for group in "$@"; do
  while read -r package; do wanted+=("$package"); done < <(awk -v g="$group" '$1 == g {print $2}' "$list")
done
missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "missing Debian packages: ${missing[*]}" >&2
  echo "install them with:  sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing ${#missing[@]} Debian packages: ${missing[*]}" >&2
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "apt-get failed, its output is in $log" >&2
  exit 1
fi
rm -f "$log"

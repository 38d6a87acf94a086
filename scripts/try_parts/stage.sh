# SPDX-License-Identifier: BSD-3-Clause
# Common parts of ./try: options, hosts with wires, nodes on them, and a complete clean-up.

bold='' green='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' green=$'\033[32m' plain=$'\033[0m'; fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
type_out() { printf '%s%s%s\n' "$green" "$*" "$plain"; }  # prints a command as a user would type it
show() {  # prints a command, then runs it
  type_out "\$ $*"
  "$@" || { echo "(exit status $?)"; return 0; }
}

progress() {  # of ninja: its status line every 10 seconds, and all other output
  local line state='' last=$SECONDS code
  while true; do
    code=0
    IFS= read -r -t 1 line || code=$?
    if ((code == 0)) && [[ $line == "["*/*"] "* ]]; then
      state=$line
    elif ((code == 0)); then
      printf '%s\n' "$line"
    elif ((code <= 128)); then  # ninja has ended; above 128: no output for a second
      return 0
    fi
    if ((SECONDS - last >= 10)); then printf '%s\n' "$state"; last=$SECONDS; fi
  done
}
build() {  # build TREE PROGRAM ...
  local tree=$1
  shift
  local targets=()
  for program in "$@"; do targets+=("apps/$program/$program"); done
  if [ -t 1 ]; then ninja -C "$tree" "${targets[@]}"; else ninja -C "$tree" "${targets[@]}" | progress; fi
}

hosts=() nodes=()
clear_stage() {
  for pid in "${nodes[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
  for pid in "${nodes[@]}"; do wait "$pid" 2>/dev/null || true; done
  for host in "${hosts[@]}"; do ip netns delete "$host" 2>/dev/null || true; done
  hosts=() nodes=()
}
enter_stage() {  # enter_stage APPS: works in its own folder with these programs in PATH
  scratch=$(mktemp -d /tmp/plnet-try.XXXXXX)
  trap 'clear_stage; rm -rf "$scratch"' EXIT
  trap 'exit 1' INT TERM HUP
  mkdir "$scratch/bin"
  for program in lnet-router lnetctl lnet-traffic lnet-selftest lnetdump lnet-pin; do ln -s "$1/$program/$program" "$scratch/bin/"; done
  PATH=$scratch/bin:$PATH
  cd "$scratch"
}

host() { echo "plnet-try-$$-$1"; }  # the network namespace of a host
new_host() {
  hosts+=("$(host "$1")")
  ip netns add "$(host "$1")" && ip -n "$(host "$1")" link set lo up
}
wire() {  # wire HOST INTERFACE ADDRESS HOST INTERFACE ADDRESS
  ip -n "$(host "$1")" link add "$2" type veth peer name "$5" netns "$(host "$4")" || return
  ip -n "$(host "$1")" address add "$3" dev "$2" && ip -n "$(host "$1")" link set "$2" up || return
  ip -n "$(host "$4")" address add "$6" dev "$5" && ip -n "$(host "$4")" link set "$5" up
}
no_stage() {
  echo "this machine has no network namespaces or no veth: ./try needs a kernel with both" >&2
  exit 1
}

cpus=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
two_pollers() {  # configuration: two CPTs of one poller each, on the first and the last CPU
  cat <<YAML
plnet:
    cpts:
        by: list
        list:
            - shards:
                - cpu: $(head -n 1 <<<"$cpus")
            - shards:
                - cpu: $(tail -n 1 <<<"$cpus")
    pollers:
        idle: sleep
    lnet:
        peers: 4096
YAML
}
network() {  # network NET INTERFACE: an entry below `net:`
  printf '    - net type: %s\n      local NI(s):\n        - interfaces:\n              0: %s\n' "$1" "$2"
}

own_words() { echo --instance "$1" --socket "$scratch/$1.sock" --lock-dir "$scratch"; }
begin() {  # begin HOST NAME PROGRAM FLAGS: starts a node in the background and waits until it is
           # ready
  local host=$1 name=$2
  shift 2
  type_out "$name\$ $* &"
  # shellcheck disable=SC2046
  ip netns exec "$(host "$host")" "$@" $(own_words "$name") >"$name.log" 2>&1 &
  nodes+=($!)
  for _ in $(seq 300); do
    ! grep -qs event=ready "$name.log" || return 0
    kill -0 "${nodes[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  cat "$name.log"
  exit 1
}
ctl() {  # ctl NODE WORDS: lnetctl for that node
  local name=$1
  shift
  type_out "$name\$ lnetctl $*"
  lnetctl --socket "$scratch/$name.sock" "$@" || echo "(exit status $?)"
}
ask() {  # ask NODE ROW WORDS: one number of the output of lnetctl
  local name=$1 row=$2
  shift 2
  lnetctl --socket "$scratch/$name.sock" "$@" | awk -v row="$row:" '$1 == row { print $2; exit }'
}

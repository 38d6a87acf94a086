# SPDX-License-Identifier: BSD-3-Clause
# A client and a server on separate networks, and a router that forwards between them.

say "A router: client (tcp) - router (tcp, tcp1) - server (tcp1), three hosts"
{ new_host client && new_host router && new_host server &&
  wire client eth0 10.89.0.1/24 router eth0 10.89.0.10/24 &&
  wire server eth0 10.89.1.1/24 router eth1 10.89.1.10/24; } || no_stage
{ echo "net:"; network tcp eth0; network tcp1 eth1; two_pollers
  printf 'routing:\n    - enable: 1\n'; } >router.yaml
{ echo "net:"; network tcp eth0; two_pollers
  printf 'route:\n    - net: tcp1\n      gateway: 10.89.0.10@tcp\n'; } >client.yaml
{ echo "net:"; network tcp1 eth0; two_pollers
  printf 'route:\n    - net: tcp\n      gateway: 10.89.1.10@tcp1\n'; } >server.yaml

begin router router lnet-router --config router.yaml
node_router=${nodes[-1]}
begin server server lnet-traffic --config server.yaml
operations=${operations:-60000}  # fewer in its test
stamp() { echo "${EPOCHREALTIME//[.,]/}"; }  # present time in microseconds
begun=$(stamp)
begin client client lnet-traffic --config client.yaml --to 10.89.1.1@tcp1 --count $operations --window 8 --stay
node_client=${nodes[-1]}

say "The path from the client to the server"
ctl client route show -v
ctl client ping 10.89.1.1@tcp1

# The router's forwarded messages and bytes.
forwarded() { lnetctl --socket "$scratch/router.sock" stats show | awk '
  $1 ~ /^route_(count|length):$/ { of[$1] = $2 } END { print of["route_count:"], of["route_length:"] }'; }
# Free buffers of 1 MiB over all CPTs, and their minimum.
buffers() { lnetctl --socket "$scratch/router.sock" routing show | awk '
  $1 ~ /^(tiny|small|large):$/ { pool = $1 } pool == "large:" { sum[$1] += $2 }
  END { print sum["credits:"] + 0, sum["mincredits:"] + 0 }'; }
# The time until TCP has accepted a complete message for a next hop: median and 99 % of the last 10
# to 20 seconds.
hop_times() { lnetctl --socket "$scratch/router.sock" top --by hop | awk -v nid="$1" '
  $2 == "hop:" { hop = $3 } hop == nid && $2 == "usec:" { took[$1] = $3 }
  END { print ("p50" in took ? took["p50"] : "-"), ("p99" in took ? took["p99"] : "-") }'; }
# The sum over the shards of the client.
answered() { lnetctl --socket "$scratch/client.sock" counters show | awk '$1 == "answered:" { sum += $2 } END { print sum + 0 }'; }
say "Traffic through the router: messages forwarded since the row above, buffers of 1 MiB, and the time in usec until TCP of the router has sent a message to the server (the client prints its own times at its end)"
printf '%8s %10s %10s %12s %12s %15s %9s %9s\n' seconds messages MiB/s 'large, free' 'fewest free' 'client credits' 'hop p50' 'hop p99'
at=$begun row=(0 0)
for _ in $(seq 60); do
  sleep 1
  ended=$(answered)  # read before the router, whose counters then cover all of them
  above_at=$at above=("${row[@]}")
  read -r -a row <<<"$(forwarded)"
  at=$(stamp)
  LC_ALL=C awk -v begun="$begun" -v above_at="$above_at" -v at="$at" -v messages=$((row[0] - above[0])) -v bytes=$((row[1] - above[1])) \
    'BEGIN { printf "%8.2f %10d %10.1f", (at - begun) / 1e6, messages, bytes / 1048576 / ((at - above_at) / 1e6) }'
  # shellcheck disable=SC2046,SC2183
  printf ' %12d %12d %15s %9s %9s\n' $(buffers) "$(ask router available_rtr_credits peer show -v --nid 10.89.0.1@tcp)" $(hop_times 10.89.1.1@tcp1)
  [ "$ended" -lt $operations ] || break
done

say "The counters of the router"
ctl router routing show
ctl router stats show | grep -E 'lnetctl|statistics|route_|drop_'
ctl router peer show --nid 10.89.1.1@tcp1 -v | grep -E 'lnetctl|nid:|state|credits|_count: [1-9]'

say "A clean stop of the router: it forwards until its peers are notified"
kill -TERM "$node_router"
tail -n +1 -f --pid="$node_router" router.log | grep --line-buffered 'event=drain' |
  awk 'NR % 10 == 1 || /event=drained/ { sub(/^.*event=/, "event="); print; fflush() }'
wait "$node_router" && echo "the router ended with status 0"

kill -TERM "$node_client"
if wait "$node_client"; then
  say "The client has finished: every operation was answered with correct bytes, in these times"
else
  say "The client has ended with status $?"
fi
grep -A 30 '^traffic:' client.log

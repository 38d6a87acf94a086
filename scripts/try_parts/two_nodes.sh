# SPDX-License-Identifier: BSD-3-Clause
# Two nodes on two hosts: placement, ping, discovery, traffic, a crash and the recovery after it.

say "Two LNet nodes"
{ new_host a && new_host b && wire a eth0 10.88.0.1/24 b eth0 10.88.0.2/24; } || no_stage
{
  echo "# The interface eth0 on the network tcp."
  echo "net:"
  network tcp eth0
  two_pollers
} >node.yaml

say "The placement of the pollers of a node (a plan starts nothing)"
show lnetctl cpt plan --config node.yaml --draw

say "A node on each of two hosts; the second answers traffic, too"
begin a a lnet-router --config node.yaml
begin b b lnet-traffic --config node.yaml
node_b=${nodes[-1]}
ctl a net show

say "Ping, and discovery"
ctl a ping 10.88.0.2@tcp
ctl b ping 10.88.0.1@tcp
ctl a discover 10.88.0.2@tcp

say "A burst of pings: round trips through both nodes"
ctl a ping --count 5000 --window 16 10.88.0.2@tcp

say "The counters of a"
ctl a stats show | grep -E 'statistics|_count: [1-9]|_length: [1-9]|lnetctl'
ctl a net show -v --net tcp | sed -n 1,20p

say "b is killed without notice …"
show kill -9 "$node_b"
wait "$node_b" 2>/dev/null || true
ctl a ping 10.88.0.2@tcp
say "… and restarts. a reconnects to it"
begin b b lnet-traffic --config node.yaml
for _ in $(seq 100); do
  ! lnetctl --socket a.sock ping 10.88.0.2@tcp >/dev/null 2>&1 || break
  sleep 0.1
done
ctl a ping 10.88.0.2@tcp

say "a stops; its host now sends PUTs and GETs of up to a megabyte. Each is checked and accounted for"
kill -TERM "${nodes[0]}"
wait "${nodes[0]}" && tail -n 1 a.log
# shellcheck disable=SC2046
show ip netns exec "$(host a)" lnet-traffic --config node.yaml $(own_words a) --to 10.88.0.2@tcp --count 4000 2>/dev/null
ctl b counters show | grep -E 'lnetctl|object: traffic|shard|delivered|served' | grep -A 6 -E 'lnetctl|object: traffic'

say "A clean stop"
kill -TERM "${nodes[-1]}"
wait "${nodes[-1]}" && echo "b ended with status 0"

# SPDX-License-Identifier: BSD-3-Clause
# A client on TCP, a router, and a server on kfi: software NICs of Slingshot at both ends of a
# memif.

say "Slingshot in software: client (tcp) - router (tcp, kfi) - server (kfi), NICs in software on a memif"
{ new_host client && new_host router && new_host server &&
  wire client eth0 10.89.0.1/24 router eth0 10.89.0.10/24; } || no_stage
one_poller() {  # one_poller CPU: a CPT of one shard
  printf 'plnet:\n    cpts: {by: list, list: [{shards: [{cpu: %s}]}]}\n    pollers: {idle: sleep}\n    lnet: {peers: 4096}\n' "$1"
}
soft_nic() {  # soft_nic ROLE ADDRESS: below one_poller
  cat <<YAML
    kfi:
        interfaces:
            - name: cxi0
              backend: soft
              port: "net_memif0,role=$1,id=0,socket-abstract=no,socket=$scratch/memif.sock"
              address: $2
YAML
}
first_cpu=$(head -n 1 <<<"$cpus") last_cpu=$(tail -n 1 <<<"$cpus")
{ echo "net:"; network tcp eth0; network kfi cxi0; printf 'routing: {enable: 1}\n'
  one_poller "$first_cpu"; soft_nic client 691; } >kfi-router.yaml
{ echo "net:"; network tcp eth0; printf 'route: [{net: kfi, gateway: 10.89.0.10@tcp}]\n'; one_poller "$last_cpu"; } >kfi-client.yaml
{ echo "net:"; network kfi cxi0; printf 'route: [{net: tcp, gateway: 691@kfi}]\n'
  one_poller "$last_cpu"; soft_nic server 418; } >kfi-server.yaml

begin server kfi-server lnet-traffic --config kfi-server.yaml
begin router kfi-router lnet-router --config kfi-router.yaml
for _ in $(seq 50); do  # until the NICs have found each other
  ! lnetctl --socket "$scratch/kfi-router.sock" ping --timeout 1 418@kfi >kfi-ping.log 2>&1 || break
done
ctl kfi-router net show --net kfi -v
ctl kfi-router ping 418@kfi
begin client kfi-client lnet-traffic --config kfi-client.yaml --to 418@kfi --count 5000 --window 4
if wait "${nodes[-1]}"; then say "Every operation was answered with correct bytes"; else say "The client has ended with status $?"; fi
grep -A 30 '^traffic:' kfi-client.log

say "The state of the router's NIC"
ctl kfi-router kfi peers
ctl kfi-router cassini show | head -n 60
ctl kfi-router stats show | grep -E 'lnetctl|statistics|route_|drop_'

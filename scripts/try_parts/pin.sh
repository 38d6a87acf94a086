# SPDX-License-Identifier: BSD-3-Clause
# A small sweep of lnet-pin: the best idle policy for the poller of a server on this machine.

say "The best idle policy for a poller: a small sweep of lnet-pin, two policies of a server, seven rounds"
cat >pin.yaml <<'YAML'
name: try
measured: server
workload: {networks: tcp, test: write, size: 1M, concurrency: 8, warmup: 0, duration: 500ms}
rounds: {least: 7, most: 7}
budget: 100s
factors: {idle: [yield, sleep]}
YAML
show lnet-pin plan pin.yaml
results=$root/build/try-pin
rm -rf "$results"
show lnet-pin run pin.yaml --results "$results" --state "$scratch/pin-state"
if [ -s "$results/report.html" ]; then
  show lnet-pin recommend "$results"
  say "The report: $results/report.html"
fi

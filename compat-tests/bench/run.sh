#!/usr/bin/env bash
# Measure Ferrule beside real Ironic 39.0.0 in one run, each on SQLite with the
# same ironic.conf, and print the ratios. Arguments go to ironicbench.
#
#   run.sh                                    the usual phases
#   run.sh -phases create,get,list -repeats 1 a short look
#
# With BENCH_STORE=postgresql://…, an empty database, Ferrule keeps its data there, and BENCH_DBPID is
# that server's process id, whose CPU time is then given beside.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${FERRULE_CACHE:-$HOME/.cache/ferrule}
run=$(mktemp -d /tmp/ferrule-bench-XXXXXX)
ours=""
finish() {
  [ -z "$ours" ] || kill "$ours" 2>/dev/null || true
  [ ! -e "$run/ironic/pids" ] || "$here/start-ironic.sh" -x -d "$run/ironic" || true
  rm -rf "$run"
}
trap finish EXIT

(cd "$top" && go build -o "$run/ferrule" ./cmd/ferrule)
(cd "$here" && go build -o "$run/ironicbench" .)
"$here/start-ironic.sh" -m sqlite -d "$run/ironic" -p 16389 -v "$cache/venv/bench"

start_ours() { # data folder; prints the endpoint when ready
  local verb=up store=sqlite:///$1/ferrule.sqlite
  if [ -n "${BENCH_STORE:-}" ]; then verb=serve store=$BENCH_STORE; fi
  exec "$run/ferrule" "$verb" --config "$run/ironic/ironic.conf" --data "$1" --listen 127.0.0.1:16385 \
    --set store.connection="$store" --set link.port=0 --set siteagent.port=0 --set siteagent.open_networks=127.0.0.0/8 \
    --set DEFAULT.log_file="$1/ferrule.log"
}
mkdir -p "$run/ferrule-data"
start_ours "$run/ferrule-data" >"$run/ready" 2>"$run/ferrule.err" &
ours=$!
for _ in $(seq 100); do
  grep -q ready "$run/ready" && break
  kill -0 "$ours" 2>/dev/null || { cat "$run/ferrule.err" >&2; exit 1; }
  sleep 0.1
done

db="$cache/venv/bench/bin/python $here/ironic-db.py sqlite:///$run/ironic/ironic.sqlite"
"$run/ironicbench" \
  -endpoint http://127.0.0.1:16389 -name ironic -pid "$(paste -sd, "$run/ironic/pids")" \
  -endpoint2 http://127.0.0.1:16385 -name2 ferrule -pid2 "$ours" -dbpid2 "${BENCH_DBPID:-}" \
  -available "$db available \"\$BENCH_CLASS\"" -fill "$db clone \"\$BENCH_N\"" \
  -out "${BENCH_OUT:-$run/result.json}" "$@"

#!/usr/bin/env bash
# Installs what the tests need of Debian. Does nothing where all is there.
set -euo pipefail

missing=()
need() { # package, then a command that succeeds where it is not needed
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
has_postgres() { compgen -G '/usr/lib/postgresql/*/bin/initdb' || command -v initdb; }

need gcc command -v gcc
need libc6-dev test -e /usr/include/stdlib.h
need postgresql has_postgres
need ipmitool command -v ipmitool
need openipmi command -v ipmi_sim
need xorriso command -v xorriso
need python3 command -v python3
need python3-venv python3 -c 'import ensurepip, venv'
need ca-certificates test -e /etc/ssl/certs/ca-certificates.crt

if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
fi
if ! command -v apt-get >/dev/null; then
  echo "this is not Debian; install what these packages hold: ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
if [[ " ${missing[*]} " == *" postgresql "* ]]; then
  # The tests start servers of their own; none is to run beside them.
  "${as_root[@]}" mkdir -p /etc/postgresql-common
  "${as_root[@]}" sh -c 'test -e /etc/postgresql-common/createcluster.conf ||
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf'
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "${missing[@]}" </dev/null >/dev/null

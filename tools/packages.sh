#!/bin/bash
# Installs missing Debian packages whose commands the tests run. Without the rights to install, or on another system, it
# prints what is missing and fails, before any slow step begins.
set -euo pipefail

# Debian keeps nginx in sbin, which is not on every user's PATH.
export PATH="$PATH:/usr/sbin"

missing=()
for command in make git openssl curl python3 redis-server nginx prometheus faketime; do
  command -v "$command" >/dev/null || missing+=("$command")
done
python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
[ "${#missing[@]}" -gt 0 ] || exit 0

install="apt-get install -y --no-install-recommends ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "The tests need these commands, which are missing: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "The tests need Debian packages that are missing. Run: sudo $install" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
$install -qq >/dev/null

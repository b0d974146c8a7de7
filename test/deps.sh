#!/bin/sh
# Installs what the tests need beyond Go, git and npm: the pinned Claude Code client, and, where apt
# and the rights for it exist, searx and pdftotext for the research tests, the test runners the gates
# are tried with, Chromium to look at the page of statistics, and a C compiler for the race detector. What cannot be installed is said in one line; the tests that need it say so again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

if command -v npm >/dev/null 2>&1; then
  # Outside the tree: a folder install of the plugin copies the tree.
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/legwork/e2e
  if ! cmp -s "$here/e2e/package-lock.json" "$cache/package-lock.json" || [ ! -d "$cache/node_modules/@anthropic-ai" ]; then
    mkdir -p "$cache"
    cp "$here/e2e/package.json" "$here/e2e/package-lock.json" "$cache/"
    npm ci --prefix "$cache" --ignore-scripts --no-audit --no-fund --loglevel=error
  fi
else
  echo "deps: npm is missing: the tests with the real Claude Code client will not run" >&2
fi

# jest, mocha and vitest, for the gates of delegate; exact versions, nothing of theirs is run.
if command -v npm >/dev/null 2>&1; then
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/legwork/js-runners
  if [ ! -d "$cache/node_modules/vitest" ]; then
    mkdir -p "$cache"
    echo '{"private": true, "dependencies": {"jest": "29.7.0", "mocha": "10.8.2", "vitest": "2.1.9"}}' >"$cache/package.json"
    npm install --prefix "$cache" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null 2>&1 ||
      echo "deps: npm could not install jest, mocha and vitest: their gates will not be tried" >&2
  fi
fi

need=
# program:package, as Debian calls it
for pair in searx-run:searx pdftotext:poppler-utils pytest:python3-pytest node:nodejs cc:gcc bwrap:bubblewrap rspec:ruby-rspec; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || need="$need ${pair#*:}"
done
case $need in *gcc*) need="$need libc6-dev" ;; esac
# A browser under any of its names; Ubuntu has none that apt can install.
if ! command -v chromium >/dev/null 2>&1 && ! command -v google-chrome >/dev/null 2>&1 && ! command -v chromium-browser >/dev/null 2>&1; then
  grep -qi '^ID=ubuntu' /etc/os-release 2>/dev/null || need="$need chromium"
fi
if [ -n "$need" ]; then
  if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    apt-get update -q >/dev/null 2>&1 || true
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $need >/dev/null 2>&1 ||
      echo "deps: apt could not install$need: the tests that need them will not run" >&2
  else
    echo "deps: not installed:$need: the tests that need them will not run" >&2
  fi
fi

#!/bin/sh
# Installs Express into bench/.peers. It needs node and npm (Debian: apt-get install npm).
set -eu
cd "$(dirname "$0")"
npm install --prefix .peers --no-audit --no-fund --no-package-lock --loglevel error express@5

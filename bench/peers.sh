#!/bin/sh
# Installs the peers that run.py --peers measures into bench/.peers: npm packages and a venv.
# It needs npm, Java (for WireMock) and Python. Remove the folder to be rid of them.
set -eu
cd "$(dirname "$0")"
mkdir -p .peers
npm install --prefix .peers --no-audit --no-fund --no-package-lock --loglevel error \
  @stoplight/prism-cli@5 json-server@0.17.4 @mockoon/cli@9 express@5 wiremock@3
"${PYTHON:-python3}" -m venv .peers/venv
.peers/venv/bin/pip install -q fastapi 'uvicorn[standard]' 'moto[server]'

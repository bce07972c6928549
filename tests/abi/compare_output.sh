#!/usr/bin/env bash
# compare_output.sh EXPECTED COMMAND...: COMMAND prints what the file EXPECTED has.
set -euo pipefail
"${@:2}" | diff "$1" -

# What is printed while something runs.

elapsed() {
  printf '%d:%02d' $((SECONDS / 60)) $((SECONDS % 60))
}

heading() {
  printf '[%6s] %s\n' "$(elapsed)" "$*"
}

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Every half minute, the last line of a log that is being written.
watch_log() {
  while sleep 30 >/dev/null 2>&1; do
    printf '[%6s]     %s\n' "$(elapsed)" "$(tail -n 1 "$1" | sed 's/^ *//' | cut -c 1-90)"
  done
}

# logged NAME COMMAND...: runs it with its output in a log, which is shown at the end if it fails.
logged() {
  local log=$logs/$1.log status=0 watcher
  shift
  mkdir -p "$logs"
  : >"$log"
  watch_log "$log" &
  watcher=$!
  ("$@") >"$log" 2>&1 </dev/null || status=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  if [ "$status" != 0 ]; then
    echo "---- failed with status $status, end of $log:"
    tail -n 40 "$log"
    echo "----"
  fi
  return "$status"
}

#!/usr/bin/env bash
# Runs the libFuzzer targets of a build made with the preset `fuzz`.
#
#   fuzz.sh run BUILD [SECONDS]   every target for SECONDS (60) from its kept corpus, two at a time;
#                                 what is found lies in BUILD/found/TARGET, and an input that a
#                                 target fails on in BUILD/found/TARGET-crash-... Fails if one did.
#   fuzz.sh keep BUILD [TARGET]   makes the kept corpus anew from itself and what was found: the few
#                                 inputs that together reach every edge, and the longest of those
#                                 that reach it most often.
set -euo pipefail
corpus=$(cd "$(dirname "$0")" && pwd)/corpus
most=384   # Bytes of an input: enough for some hundred operations.
inputs=50  # Kept for a target.

command=${1:?run or keep} build=$(cd "${2:?a build directory}" && pwd)
targets=$(cd "$build/tests/fuzz" && ls -- *_fuzzer | sed 's/_fuzzer$//')

run_one() {  # BUILD SECONDS CORPUS MOST TARGET
  local found=$1/found/$5 log=$1/found/$5.log
  mkdir -p "$found"
  if "$1/tests/fuzz/$5_fuzzer" -max_total_time="$2" -max_len="$4" -timeout=10 -rss_limit_mb=4096 \
    -artifact_prefix="$found-" -print_final_stats=1 "$found" "$3/$5" >"$log" 2>&1; then
    echo "ok: $5: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $2 s"
  else
    echo "FAILED: $5"
    tail -n 60 "$log"
    return 1
  fi
}
export -f run_one

case $command in
  run)
    seconds=${3:-60}
    xargs -n 1 -P 2 bash -c 'run_one "$@"' run_one "$build" "$seconds" "$corpus" "$most" <<<"$targets"
    ;;
  keep)
    for target in ${3:-$targets}; do
      merge() {  # FLAG DIRECTORY
        "$build/tests/fuzz/${target}_fuzzer" -set_cover_merge=1 "$1" -max_len="$most" "$2" \
          "$corpus/$target" "$build/found/$target" >/dev/null 2>&1
      }
      kept=$(mktemp -d) more=$(mktemp -d)
      mkdir -p "$build/found/$target" "$corpus/$target"
      merge -use_counters=0 "$kept"
      merge -use_counters=1 "$more"
      find "$more" -type f -printf '%s %p\n' | sort -k 1,1nr -k 2 | cut -d ' ' -f 2 |
        while read -r file; do
          [ "$(find "$kept" -type f | wc -l)" -lt "$inputs" ] && cp -n "$file" "$kept"
        done || true
      rm -rf "${corpus:?}/$target" "$more"
      mv "$kept" "$corpus/$target"
      chmod 755 "$corpus/$target"
      echo "$target: $(find "$corpus/$target" -type f | wc -l) inputs"
    done
    ;;
  *)
    echo "no command $command"
    exit 2
    ;;
esac

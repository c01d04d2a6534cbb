#!/usr/bin/env bash
# TMA on a GPU against the simulator, byte for byte: every swizzle and row width, tiles that hang over each edge, tensors
# narrower than a tile, and first coordinates below zero. S, the tiles as they lie in shared memory, shows what D cannot:
# where the bytes of a box land, and what TMA leaves untouched.
#
#   tests/gpu/copy_tma.sh [KILN]     the command; default: $KILN, then build/kiln
set -uo pipefail

kiln=${1:-${KILN:-build/kiln}}
target=${KILN_GPU_TARGET:-sm_90a}

if [[ ! -x $kiln ]]; then
  echo "copy_tma: error: no command at $kiln" >&2
  exit 1
fi
if [[ ! -e /dev/nvidiactl && ! -e /dev/nvidia0 ]]; then
  echo "SKIPPED: gpu: there is no /dev/nvidia0 here"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
runs=0 failures=0

# compare ROWS COLS SWIZZLE INNER SHIFT: the same problem on both backends.
compare() {
  local name="rows=$1 cols=$2 swizzle=$3 inner=$4 shift=$5" backend
  local options=(--rows "$1" --cols "$2" --swizzle "$3" --inner "$4" --shift "$5" --seed $((++runs)))
  for backend in sim cuda; do
    if ! "$kiln" run copy_tma --target "$target" "${options[@]}" --backend $backend \
      --out "D=$work/$backend.d.npy" --out "S=$work/$backend.s.npy" >"$work/$backend.log" 2>&1; then
      echo "FAIL $name: the run on $backend:"
      cat "$work/$backend.log"
      failures=$((failures + 1))
      return
    fi
  done
  local buffer
  for buffer in d s; do
    if ! cmp "$work/sim.$buffer.npy" "$work/cuda.$buffer.npy"; then
      echo "FAIL $name: buffer ${buffer^^} differs between the simulator and the GPU"
      failures=$((failures + 1))
    fi
  done
}

variants=("0 16" "0 128" "32 16" "32 32" "64 16" "64 32" "64 64" "128 16" "128 32" "128 64" "128 128")
# rows, cols, shift: whole tiles; both edges cut; smaller than one tile; starting before the tensor.
problems=("128 128 0" "200 136 0" "1 8 0" "65 72 8" "64 64 64")

for variant in "${variants[@]}"; do
  read -r swizzle inner <<<"$variant"
  for problem in "${problems[@]}"; do
    read -r rows cols shift <<<"$problem"
    compare "$rows" "$cols" "$swizzle" "$inner" "$shift"
  done
done

echo "copy_tma: $runs problems on both backends, $failures failures"
exit $((failures != 0))

#!/usr/bin/env bash
# Timing, cuBLAS beside it, the profiler, a kernel that hangs and strategies that are measured, on a GPU: what only a GPU
# can show of them.
#
#   tests/gpu/measuring.sh [KILN]     the command; default: $KILN, then build/kiln
set -uo pipefail

kiln=${1:-${KILN:-build/kiln}}
target=${KILN_GPU_TARGET:-sm_90a}
here=$(cd "$(dirname "$0")" && pwd)

if [[ ! -x $kiln ]]; then
  echo "measuring: error: no command at $kiln" >&2
  exit 1
fi
if [[ ! -e /dev/nvidiactl && ! -e /dev/nvidia0 ]]; then
  echo "SKIPPED: gpu: there is no /dev/nvidia0 here"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# holds WHAT FILE EXPRESSION: the expression, in Python, over `j`, what the JSON file holds.
holds() {
  if ! python3 -c "import json, sys; j = json.load(open(sys.argv[1])); sys.exit(not ($3))" "$2"; then
    echo "FAIL $1: $3"
    failures=$((failures + 1))
  fi
}

"$kiln" run copy_tma --target "$target" --backend cuda --rows 4096 --cols 4096 --time --repetitions 10 --json >"$work/copy.json"
holds "a timed copy" "$work/copy.json" 'j["verdict"] == "pass" and len(j["timing"]["all_ms"]) == 10'
holds "a timed copy" "$work/copy.json" '0 < j["timing"]["min_ms"] <= j["timing"]["median_ms"] <= j["timing"]["max_ms"]'
holds "a timed copy" "$work/copy.json" '100 < j["timing"]["gb_per_s"] < 20000 and not j["timing"]["cublas"]["measured"]'

"$kiln" run copy_tma --target "$target" --backend cuda --profile "$work/profile.json" --json >"$work/run.json"
holds "a profiled copy" "$work/run.json" 'j["verdict"] == "pass"'
holds "a profiled copy" "$work/profile.json" \
  '{"Setup", "IssueTMA", "WaitTMA", "Epilogue"} <= {e["name"] for e in j["traceEvents"] if e["ph"] == "X"}'

echo '{"entry": "hang", "grid": [6, 1, 1], "block": [64, 1, 1], "params": [{"buffer": "A"}],
       "buffers": {"A": {"dtype": "u32", "shape": [1], "init": "zeros"}}}' >"$work/hang.json"
"$kiln" gpu "$here/hang.ptx" --launch "$work/hang.json" --timeout 2 --profile "$work/hang.profile.json" \
  --profile-memory host --json >"$work/hung.json" 2>/dev/null
holds "a hang" "$work/hung.json" 'j["gpu"]["outcome"] == "hang" and j["exit_code"] == 1'
holds "a hang" "$work/hung.json" '"load: WaitMainloop full[1] (6 warps)" in j["last_phases"]'

if command -v nvcc >/dev/null && nvcc -arch="$target" -ptx "$here/timing/gemm_wmma.cu" -o "$work/gemm.ptx"; then
  "$here/timing/contract" 1024 512 2048 >"$work/gemm.json"
  "$kiln" gpu "$work/gemm.ptx" --launch "$work/gemm.json" --time --json >"$work/timed.json"
  holds "a timed gemm" "$work/timed.json" 'j["verdict"] == "pass" and j["timing"]["operations"] == 2 * 1024 * 512 * 2048'
  holds "cuBLAS, where there is one" "$work/timed.json" \
    'not j["timing"]["cublas"]["measured"] or (j["timing"]["cublas"]["pass"] and j["timing"]["ratio"] > 0)'
fi

# The fastest of three strategies is measured in every order of tiles, too.
case $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1) in
  *H200*) chip=h200 ;;
  *H100*) chip=h100 ;;
  *) chip= ;;
esac
if [[ -n $chip ]]; then
  "$kiln" tune gemm --type bf16 --m 2048 --n 768 --k 256 --chip $chip --measure --predictions 3 --repetitions 5 \
    --cache "$work/tune.json" --json >"$work/tuned.json"
  holds "a measured strategy" "$work/tuned.json" \
    'not j["failures"] and len(j["entries"]) == 1 and j["entries"][0]["measured"]["us"] > 0'
  "$kiln" run gemm --type bf16 --m 2048 --n 768 --k 256 --chip $chip --backend cuda --cache "$work/tune.json" --json \
    >"$work/chosen.json"
  holds "what was measured is run" "$work/chosen.json" 'j["verdict"] == "pass"'
fi

echo "measuring: $failures failures"
exit $((failures != 0))

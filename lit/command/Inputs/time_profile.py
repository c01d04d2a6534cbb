"""A predicted profile: the phases of each role, with their mbarriers, one after the other."""
import json
import sys

trace = json.load(open(sys.argv[1]))
slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
roles = {e["args"].get("role") for e in slices}
assert {"load", "mma", "store"} <= roles, roles
waits = {e["args"].get("mbarrier", "").split("[")[0] for e in slices}
assert {"in_full", "in_empty", "done", "sums_full", "sums_empty"} <= waits, waits
for track in {(e["pid"], e["tid"]) for e in slices}:
    own = sorted((e["ts"], e["dur"]) for e in slices if (e["pid"], e["tid"]) == track)
    assert all(a + d <= b for (a, d), (b, _) in zip(own, own[1:])), own
assert max(e["dur"] for e in slices if e["args"].get("mbarrier") == "done[0]") > 1000
assert "predicted" in json.dumps(trace.get("otherData", trace)), trace.keys()

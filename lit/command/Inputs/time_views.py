"""usage: time_views.py PREDICTION.json TRACE.json PAGE.html: the trace and the page say what the prediction says."""
import html.parser
import json
import sys

prediction, trace = (json.load(open(path)) for path in sys.argv[1:3])
launch = prediction["launches"][0]
us = 1e-3 / prediction["clock_ghz"]
spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
mmas = [e for e in spans if lanes[e["pid"], e["tid"]] == "tensor core"]
assert len(mmas) == launch["mmas"], (len(mmas), launch["mmas"])
busy = next(r["busy_cycles"] for r in launch["resources"] if r["name"] == "tensor core")
assert abs(sum(e["dur"] for e in mmas) - busy * us) < 0.02 * busy * us
assert all(0 <= e["ts"] and e["ts"] + e["dur"] <= (launch["cluster_cycles"]["value"] + 1000) * us for e in spans)
assert any(name.startswith("load, warp") for name in lanes.values()), lanes


class Page(html.parser.HTMLParser):
    """Counts what is open, and refuses what comes from elsewhere."""

    open_tags, rects, text = [], 0, ""

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe"), tag
        assert not any(name in ("src", "href") for name, _ in attributes), attributes
        self.rects += tag == "rect"
        if tag != "meta":
            self.open_tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


page = Page()
page.feed(open(sys.argv[3]).read())
assert not page.open_tags, page.open_tags
assert page.rects > 50, page.rects
assert f"{prediction['cycles']['value']:.0f} cycles" in page.text
for role in launch["roles"]:
    assert role["name"] in page.text, role

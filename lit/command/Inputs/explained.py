"""explained.py JSON PAGE: does `kiln explain --json` have the members that the page says, and no others?"""
import json
import pathlib
import re
import sys

told = json.loads(pathlib.Path(sys.argv[1]).read_text())
page = pathlib.Path(sys.argv[2]).read_text().partition("## What there is to know")[2].partition("\n## ")[0]
print(", ".join(f"{name} {len(told[name])}" for name in told if name != "version"))

documented = {name: set(re.findall(r"`(\w+)`", rest)) for name, rest in re.findall(r"^\| `(\w+)` \|(.*)$", page, re.M)}
assert list(documented) == [name for name in told if name != "version"], (list(documented), list(told))


def members(node):
    if isinstance(node, dict):
        return set(node).union(*map(members, node.values()))
    return set().union(*map(members, node)) if isinstance(node, list) else set()


for name, elements in told.items():
    if name in documented:
        elements = [{k: v for k, v in e.items() if k != "holds"} for e in elements]
        there = members(elements) | ({"holds"} if name == "tables" else set())
        assert there == documented[name], (name, there ^ documented[name])
assert all(rule["page"].startswith(f"# {rule['slug']}") for rule in told["rules"])
assert sum(bool(i["forms"]) for i in told["instructions"]) > 200
assert {"sm_90a", "sm_100a", "sm_103f", "sm_121a"} <= {t["name"] for t in told["targets"]}
assert not any(text.endswith(".") or "!" in text for i in told["instructions"] for f in i["forms"] for o in f["operands"] for text in o)
print("as documented")
(alloc,) = (i for i in told["instructions"] if i["name"] == "tcgen05.alloc")
(form,) = alloc["forms"]
slots = " ".join("|".join(s["one_of"]) + "?" * s["optional"] for s in form["modifiers"])
print(f"{alloc['name']}: {slots}: {', '.join(form['operands'][0])}")

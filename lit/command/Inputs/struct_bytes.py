"""struct_bytes.py CONTRACT [PRINTED]: the size of the contract's first parameter, a struct; with what a program printed that
launches the kernel with buffers at 16, 32, ...: whether the driver was given the bytes that the contract says.

A tensor map of the tests' cuda.h begins with its buffer's address and two extents."""
import json
import pathlib
import re
import sys

contract = json.loads(pathlib.Path(sys.argv[1]).read_text())
struct = contract["params"][0]
if len(sys.argv) == 2:
    print(struct["size"])
    sys.exit()

address = {name: 16 * (i + 1) for i, name in enumerate(contract["buffers"])}
image, written = bytearray(struct["size"]), 0


def put(at, value, size):
    image[at:at + size] = value.to_bytes(size, "little")


for field in struct["struct"]:
    at = field["at"]
    if "tensor_map" in field:
        tensor_map = contract["tensor_maps"][field["tensor_map"]]
        for i, word in enumerate([address[tensor_map["buffer"]], *tensor_map["dims"][:2]]):
            put(at + 8 * i, word, 8)
        written += 128
    elif "buffer" in field:
        put(at, address[field["buffer"]] + field.get("offset", 0), 8)
        written += 8
    else:
        put(at, field["u32"], 4)
        written += 4

(given,) = re.findall(r"parameter 0 is ([0-9a-f]+)$", pathlib.Path(sys.argv[2]).read_text(), re.M)
assert bytes.fromhex(given) == image, (given, image.hex())
print(f"{len(struct['struct'])} fields, {written} bytes of {len(image)}, as the contract says")

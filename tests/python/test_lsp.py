"""kiln lsp and a scripted client: what an editor asks, and what it is told."""
import json
import pathlib
import subprocess
import unittest

import kiln

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEAD = """.version 8.6
.target sm_100a
.address_size 64
"""

LEAK = HEAD + """// größer: two bytes a letter, 𝄞 is four
.visible .entry k()
.reqntid 32
{
  .reg .b32 %t, %a<2>;
  .shared .align 4 .b32 slot;
  /* ü𝄞 */ tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 48;
  ld.shared.b32 %t, [slot];
  ret;
}
"""

WAIT = HEAD + """.visible .entry k(.param .u32 address)
{
  .reg .b32 %t, %a<2>;
  ld.param.b32 %t, [address];
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%a0}, [%t];
  add.u32 %a1, %a0, 1;
  ret;
}
"""

RACE = HEAD + """.visible .entry k()
.reqntid 64
{
  .reg .b32 %v;
  .shared .align 4 .b32 cell;
  mov.u32 %v, %tid.x;
  st.shared.b32 [cell], %v;
  ld.shared.b32 %v, [cell];
  ret;
}
"""

MMA = HEAD + """.visible .entry k(.param .u64 offset)
.reqntid 32
{
  .reg .b32 %d, %i;
  .reg .b64 %a, %b, %o;
  .reg .pred %p;
  ld.param.b64 %o, [offset];
  and.b64 %o, %o, 0x3fff;
  or.b64 %a, %o, 0x4000404000010000;
  or.b64 %b, %o, 0x4000404000010000;
  mov.b32 %i, 0x08100490;
  mov.b32 %d, 0;
  setp.eq.u32 %p, %i, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%d], %a, %b, %i, %p;
  ret;
}
"""


WGMMA = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 offset)
.reqntid 128
{
  .reg .f32 %r<4>;
  .reg .b64 %a, %b, %o;
  .reg .pred %p;
  ld.param.b64 %o, [offset];
  and.b64 %o, %o, 0x3fff;
  or.b64 %a, %o, 0x4000004000010000;
  or.b64 %b, %o, 0x8000002000010000;
  setp.ne.u64 %p, %o, 0;
  wgmma.fence.sync.aligned;
  @%p wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
      {%r0, %r1, %r2, %r3},
      %a, %b, 1, 1, 1, 0, 0;
  add.f32 %r0, %r1, %r2;
  ret;
}
"""


class Client:
    """Speaks with a server, message by message."""

    def __init__(self, *options, capabilities=None):
        self.process = subprocess.Popen([kiln.command_path(), "lsp", "--stdio", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.last = 0
        self.notifications = []
        self.initialized = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities or {}})
        self.tell("initialized", {})

    def write(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()

    def read(self):
        length = None
        while (line := self.process.stdout.readline().strip()) != b"":
            if line.startswith(b"Content-Length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def tell(self, method, params):
        self.write({"method": method, "params": params})

    def reply(self, method, params):
        self.last += 1
        self.write({"id": self.last, "method": method, "params": params})
        while (message := self.read()).get("id") != self.last:
            self.notifications.append(message)
        return message

    def ask(self, method, params):
        return self.reply(method, params)["result"]

    def notified(self):
        if not self.notifications:
            self.notifications.append(self.read())
        return self.notifications.pop(0)

    def open(self, uri, text):
        """The diagnostics of a document."""
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "ptx", "version": 1, "text": text}})
        return self.notified()["params"]

    def end(self):
        assert self.ask("shutdown", None) is None
        self.tell("exit", None)
        self.process.stdin.close()
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        return code


def at(text, what, encoding="utf-16-le"):
    """The position of `what` as the protocol counts it."""
    before = text[:text.index(what)]
    line = before.rsplit("\n", 1)[-1]
    return {"line": before.count("\n"), "character": len(line.encode(encoding)) // (2 if encoding != "utf-8" else 1)}


class Server(unittest.TestCase):
    def client(self, *options, **named):
        client = Client(*options, **named)
        self.addCleanup(lambda: (client.process.kill(), client.process.wait(), client.process.stdin.close(),
                                 client.process.stdout.close()))
        return client

    def test_findings_are_where_the_protocol_counts(self):
        client = self.client()
        self.assertEqual(client.initialized["capabilities"]["positionEncoding"], "utf-16")
        said = client.open("file:///tmp/a%20b.ptx", LEAK)
        self.assertEqual(said["uri"], "file:///tmp/a%20b.ptx")
        finding = next(d for d in said["diagnostics"] if d.get("code") == "tcgen05-alloc-columns")
        self.assertEqual(finding["range"]["start"], at(LEAK, "48;"))
        self.assertEqual(finding["severity"], 1)
        self.assertIn("got 48", finding["message"])
        self.assertEqual(client.end(), 0)

    def test_a_client_may_count_in_bytes(self):
        client = self.client(capabilities={"general": {"positionEncodings": ["utf-8", "utf-16"]}})
        self.assertEqual(client.initialized["capabilities"]["positionEncoding"], "utf-8")
        said = client.open("file:///tmp/a.ptx", LEAK)
        finding = next(d for d in said["diagnostics"] if d.get("code") == "tcgen05-alloc-columns")
        self.assertEqual(finding["range"]["start"], at(LEAK, "48;", "utf-8"))

    def test_a_change_is_judged_and_a_closed_document_has_no_findings(self):
        client = self.client()
        uri = "file:///tmp/k.ptx"
        self.assertTrue(client.open(uri, LEAK)["diagnostics"])
        fixed = RACE.replace("  ld.shared.b32 %v, [cell];\n", "").replace("[cell], %v", "[cell], 7").replace(".reqntid 64", ".reqntid 1")
        client.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": fixed}]})
        self.assertEqual(client.notified()["params"]["diagnostics"], [])
        client.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": LEAK}]})
        self.assertTrue(client.notified()["params"]["diagnostics"])
        client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        self.assertEqual(client.notified()["params"], {"uri": uri, "diagnostics": []})

    def test_a_quick_fix_repairs(self):
        client = self.client()
        uri = "file:///tmp/k.ptx"
        client.open(uri, WAIT)
        spot = at(WAIT, "%a0, 1")
        actions = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": {"start": spot, "end": spot},
                                                         "context": {"diagnostics": []}})
        self.assertEqual([a["kind"] for a in actions], ["quickfix"])
        self.assertIn("put in tcgen05.wait::ld", actions[0]["title"])
        self.assertEqual(actions[0]["diagnostics"][0]["code"], "tcgen05-ld-wait")
        lines = WAIT.splitlines(keepends=True)
        for edit in actions[0]["edit"]["changes"][uri]:
            self.assertEqual(edit["range"]["start"], edit["range"]["end"])
            line, character = edit["range"]["start"]["line"], edit["range"]["start"]["character"]
            lines[line] = lines[line][:character] + edit["newText"] + lines[line][character:]
        self.assertNotIn("tcgen05-ld-wait", [f.slug for f in kiln.check("".join(lines)).findings])
        none = client.ask("textDocument/codeAction", {"textDocument": {"uri": uri}, "context": {"diagnostics": []},
                                                      "range": {"start": at(WAIT, "ret"), "end": at(WAIT, "ret")}})
        self.assertEqual(none, [])

    def test_from_a_race_to_the_other_access_and_back(self):
        client = self.client()
        uri = "file:///tmp/race.ptx"
        said = client.open(uri, RACE)
        race = next(d for d in said["diagnostics"] if d.get("code") == "race")
        other = [r["location"]["range"] for r in race["relatedInformation"] if r["location"]["uri"] == uri]
        self.assertTrue(other)
        ask = lambda place: client.ask("textDocument/definition", {"textDocument": {"uri": uri}, "position": place})
        places = ask(race["range"]["start"])
        self.assertIn(other[0], [p["range"] for p in places])
        self.assertIn(race["range"], [p["range"] for p in ask(other[0]["start"])])
        self.assertEqual(ask({"line": 0, "character": 0}), [])

    def test_hover_takes_descriptors_apart(self):
        client = self.client("--quick")
        uri = "file:///tmp/mma.ptx"
        client.open(uri, MMA)
        hover = client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": at(MMA, "kind::f16")})
        said = hover["contents"]["value"]
        self.assertEqual(hover["range"]["start"], at(MMA, "tcgen05.mma"))
        self.assertIn("Multiplies A by B", said)
        self.assertRegex(said, r"instruction descriptor: .*M 128, N 64")
        self.assertRegex(said, r"A's descriptor: .*128B")
        self.assertNotRegex(said, r"A's descriptor: .*address")
        empty = client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}})
        self.assertIsNone(empty)

    def hover(self, client, text, what):
        uri = "file:///hover.ptx"
        client.open(uri, text)
        return client.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": at(text, what)})

    def test_hover_is_of_the_whole_statement(self):
        client = self.client("--quick")
        for spot in ("@%p wgmma", "wgmma.mma_async", "m64n8k16", "%r3}", "%a, %b, 1", "1, 0, 0"):
            hover = self.hover(client, WGMMA, spot)
            self.assertEqual(hover["range"]["start"], at(WGMMA, "@%p wgmma"), spot)
            self.assertEqual(hover["range"]["end"]["line"], at(WGMMA, "%a, %b, 1")["line"], spot)
        said = hover["contents"]["value"]
        self.assertIn("- `{%r0, %r1, %r2, %r3}` D, the accumulator", said)
        self.assertIn("- `%a` `.b64` A: a matrix descriptor of shared memory", said)
        self.assertIn("- shape: D is 64 x 8, and K is 16", said)
        self.assertRegex(said, r"Legal on `sm_90a` from 8\.0; not on `sm_100a`, .*`sm_120a` \[target-feature\]")
        self.assertNotIn("`...`", said)

    def test_hover_takes_the_descriptors_of_wgmma_apart(self):
        said = self.hover(self.client("--quick"), WGMMA, "wgmma.mma_async")["contents"]["value"]
        self.assertRegex(said, r"A's descriptor: leading_byte_offset 16, stride_byte_offset 1024, .*swizzle 128B")
        self.assertRegex(said, r"B's descriptor: leading_byte_offset 16, stride_byte_offset 512, .*swizzle 64B")
        self.assertNotRegex(said, r"descriptor: .*address")

    def test_hover_says_what_an_instruction_without_words_is(self):
        client = self.client("--quick")
        said = self.hover(client, WGMMA, "setp.ne")["contents"]["value"]
        self.assertIn("- `%p` `.pred`", said)
        self.assertIn("- `0`", said)
        self.assertIn("- compare: ne", said)
        self.assertIn("`sm_120a` from 8.7", said)
        # As the text declares %r0, and not as its name is usual.
        said = self.hover(client, WGMMA, "add.f32")["contents"]["value"]
        self.assertIn("- `%r0` `.f32`", said)
        self.assertIn("- type: f32", said)
        self.assertNotIn("not on", said)

    def test_what_is_no_request_of_a_server_is_answered(self):
        client = self.client()
        self.assertEqual(client.reply("textDocument/rename", {})["error"]["code"], -32601)
        self.assertEqual(client.reply("textDocument/hover", {"textDocument": {"uri": "file:///none"},
                                                             "position": {"line": 0, "character": 0}})["error"]["code"], -32602)
        self.assertEqual(client.reply("textDocument/hover", {})["error"]["code"], -32602)
        client.tell("textDocument/didOpen", {})
        self.assertEqual(client.notified()["method"], "window/logMessage")
        client.tell("$/setTrace", {"value": "off"})
        self.assertEqual(client.end(), 0)

    def test_a_client_that_goes_away_ends_the_server(self):
        client = self.client()
        client.process.stdin.close()
        self.assertEqual(client.process.wait(timeout=20), 1)


if __name__ == "__main__":
    unittest.main()

"""kiln.triton with what Triton calls. test_producers has Triton itself."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

import kiln
import kiln.triton
from test_kiln import BAD, CLEAN
from test_lsp import WAIT


def quiet(call, *arguments, **named):
    """What a call prints to stderr."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        call(*arguments, **named)
    return said.getvalue()


class Listener(unittest.TestCase):
    """Triton's side: a listener in its knobs, which is called for each kernel."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        compilation = types.SimpleNamespace(listener=None)
        self.triton = types.SimpleNamespace(knobs=types.SimpleNamespace(compilation=compilation))
        patch = mock.patch.dict(sys.modules, {"triton": self.triton})
        patch.start()
        self.addCleanup(patch.stop)

    def compiled(self, name, ptx, **metadata):
        path = self.folder / f"{name}.ptx"
        path.write_text(ptx)
        self.triton.knobs.compilation.listener(src=None, metadata={"name": name, "num_warps": 4, **metadata},
                                               metadata_group={f"{name}.ptx": str(path), f"{name}.json": "none"},
                                               times=None, cache_hit=False)

    def test_a_finding_names_the_line_of_python(self):
        kiln.triton.enable()
        said = quiet(self.compiled, "bad", BAD)
        self.assertIn("[tcgen05-alloc-columns]", said)
        self.assertIn("program.py:7: error: ", said)
        self.assertIn("kiln: bad: 1 error", said)
        self.assertEqual(quiet(self.compiled, "clean", CLEAN), "")
        self.assertEqual([(k.name, k.report.ok) for k in kiln.triton.checked], [("bad", False), ("clean", True)])

    def test_what_is_no_error_is_one_line(self):
        kiln.triton.enable()
        said = quiet(self.compiled, "waits", WAIT).splitlines()
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], r"^kiln: waits: 1 portability \(tcgen05-ld-wait x1\).*; kiln check \S*waits.ptx shows each$")
        with mock.patch.dict(os.environ, {"KILN_SHOW": "all", "KILN_CHECK_LOG": str(self.folder / "log")}):
            said = quiet(self.compiled, "waits2", WAIT)
        self.assertIn("[tcgen05-ld-wait]", said)
        self.assertNotIn("shows each", said)
        self.assertEqual((self.folder / "log").read_text(), said)

    def test_what_was_inlined_names_the_python_that_called_it(self):
        text = BAD.replace('.file 1 "program.py"', '.file 1 "program.py"\n.file 2 "library.h"').replace(
            ".loc 1 7 3", ".loc 1 9 1\n  .loc 2 5 1, function_name $S, inlined_at 1 9 1\n"
            "  .loc 2 7 3, function_name $S+4, inlined_at 2 5 1")
        kiln.triton.enable()
        said = quiet(self.compiled, "inlined", text)
        self.assertIn("program.py:9: error: ", said)
        self.assertIn("library.h:7: note: in what is called here", said)

    def test_a_kernel_is_checked_once(self):
        kiln.triton.enable()
        quiet(self.compiled, "bad", BAD)
        self.assertEqual(quiet(self.compiled, "bad", BAD), "")
        self.assertEqual(len(kiln.triton.checked), 1)

    def test_errors_are_exceptions_on_demand(self):
        kiln.triton.enable(raise_errors=True)
        with self.assertRaises(kiln.CheckError):
            quiet(self.compiled, "bad", BAD)

    def test_what_the_ptx_does_not_say_comes_from_triton(self):
        asked = []
        with mock.patch.object(kiln._checked, "check", lambda path, **named: asked.append(named) or kiln.Report(())):
            kiln.triton.enable(budget=3)
            self.compiled("open", CLEAN, num_ctas=2, shared=4096)
            self.compiled("closed", CLEAN.replace("\n{", "\n.reqntid 128\n{"), num_ctas=1, shared=0)
        self.assertEqual([a["assume"] for a in asked], [["cluster=2", "smem=4096", "block=128"], ["cluster=1"]])
        self.assertEqual(asked[0]["budget"], 3)

    def test_a_listener_that_was_there_is_called_and_comes_back(self):
        heard = []
        self.triton.knobs.compilation.listener = before = lambda **named: heard.append(named["metadata"]["name"])
        kiln.triton.enable()
        kiln.triton.enable()
        quiet(self.compiled, "bad", BAD)
        self.assertEqual(heard, ["bad"])
        kiln.triton.disable()
        self.assertIs(self.triton.knobs.compilation.listener, before)

    def test_a_failure_of_kiln_does_not_stop_the_program(self):
        kiln.triton.enable(raise_errors=True)
        with mock.patch.dict(os.environ, {"KILN": str(self.folder / "none")}):
            self.assertIn("kiln: clean: not checked", quiet(self.compiled, "clean", CLEAN))


if __name__ == "__main__":
    unittest.main()

"""The Python that docs/adopt.md shows runs as it stands, in a folder with the files that it names."""
import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

from test_kiln import BAD, CLEAN

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "adopt.md"


class Page(unittest.TestCase):
    def test_the_examples_run(self):
        text = PAGE.read_text()
        blocks = [(text.count("\n", 0, m.start(1)), m[1]) for m in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]
        self.assertTrue(blocks)
        before = os.getcwd()
        names = {}
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            pathlib.Path("theirs.ptx").write_text(BAD)
            pathlib.Path("copy.ptx").write_text(CLEAN)
            for line, code in blocks:
                # The lines of the page, for messages.
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile("\n" * line + code, str(PAGE), "exec"), names)
            os.chdir(before)


if __name__ == "__main__":
    unittest.main()

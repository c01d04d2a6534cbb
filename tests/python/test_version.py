"""One version: that of CMakeLists.txt."""
import pathlib
import re
import unittest

import kiln

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Version(unittest.TestCase):
    def test_it_stands_once_and_everything_says_it(self):
        version = re.search(r"^project\(kiln VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        self.assertEqual(kiln.version(), version)
        self.assertEqual(re.search(r"^## ([0-9.]+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1], version)
        self.assertNotRegex((ROOT / "pyproject.toml").read_text(), r"(?m)^version *=")


if __name__ == "__main__":
    unittest.main()

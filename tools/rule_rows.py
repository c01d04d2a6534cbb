"""ptx/rules/rules.def and limits.def for the tools that read them: check_rules, rule_book, break_rules."""
import re

CATALOGUE = "ptx/rules/rules.def"
MACRO = "RULE"
COLUMNS = ["id", "slug", "severity", "seen", "given", "must", "reference"]
LIMITS = "ptx/rules/limits.def"
LIMIT_MACRO = "LIMIT"
LIMIT_COLUMNS = ["id", "slug", "severity", "says"]

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|[(){},]|[^\s(){},"]+', re.S)


def rows(text, macro=MACRO):
    """(line number, cells) of each row of a macro; strings come without quotes, adjacent strings joined."""
    for start in re.finditer(r"^[ \t]*" + macro + r"\s*\(", text, re.M):
        cells, cell, depth = [], [], 0
        for token in TOKEN.finditer(text, start.end() - 1):
            word = token[0]
            if word.startswith(("//", "/*")):
                continue
            depth += word in "({"
            depth -= word in ")}"
            if depth == 0 or (word == "," and depth == 1):
                joiner = "" if all(w[0] == '"' for w in cell) else " "
                cells.append(joiner.join(w[1:-1] if w[0] == '"' else w for w in cell))
                cell = []
                if depth == 0:
                    break
            elif not (word == "(" and depth == 1):
                cell.append(word)
        yield text.count("\n", 0, start.start()) + 1, cells


def read(root):
    """The catalogue's rows as dictionaries by COLUMNS, in its order."""
    return [dict(zip(COLUMNS, cells)) for _, cells in rows((root / CATALOGUE).read_text())]


def read_limits(root):
    """The rows of limits.def as dictionaries by LIMIT_COLUMNS, in its order."""
    return [dict(zip(LIMIT_COLUMNS, cells)) for _, cells in rows((root / LIMITS).read_text(), LIMIT_MACRO)]

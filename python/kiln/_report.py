"""What Kiln finds in a text, as Python objects that print as the command does."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

SEVERITIES = ("error", "portability", "note", "incomplete")


@dataclass(frozen=True)
class Place:
    """A line of a file; of PTX also the columns. Lines and columns count from 1, columns in bytes."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file] + [str(n) for n in (self.line, self.column) if n])


@dataclass(frozen=True)
class Edit:
    """Part of a repair: the bytes from `begin` to `end` of the text become `text`."""

    begin: int
    end: int
    text: str


@dataclass(frozen=True)
class Note:
    """What explains a finding, and where, if anywhere."""

    message: str
    place: Optional[Place]


@dataclass(frozen=True)
class Finding:
    """One finding. `severity` is one of SEVERITIES; `slug` names the rule, and is empty for syntax errors."""

    severity: str
    slug: str
    message: str
    place: Optional[Place]
    source: Optional[Place] = None  # the line of the program that this PTX was compiled from
    fixits: Tuple[Edit, ...] = ()  # one repair together
    notes: Tuple[Note, ...] = ()
    reference: str = ""  # the section of the PTX ISA
    excerpt: str = field(default="", repr=False)  # the line of PTX

    def __str__(self) -> str:
        first = self.source or self.place
        lines = [f"{first}: " if first else ""]
        lines[0] += f"{self.severity}: {self.message}" + (f" [{self.slug}]" if self.slug else "")
        if self.source and self.place:
            lines.append(f"{self.place}: note: in this instruction")
        if self.excerpt.strip():
            lines += [self.excerpt, _marks(self.excerpt, self.place)]
        lines += [(f"{note.place}: " if note.place else "") + f"note: {note.message}" for note in self.notes]
        return "\n".join(lines)


def _count(n: int, severity: str) -> str:
    """As the command counts: "2 errors", "2 portability"."""
    return f"{n} {severity}{'s' if n != 1 and severity in ('error', 'note') else ''}"


def _marks(excerpt: str, place: Optional[Place]) -> str:
    if place is None or place.column < 1:
        return ""
    begin = place.column - 1
    end = place.end_column - 1 if place.end_line == place.line else len(excerpt)
    blank = "".join("\t" if c == "\t" else " " for c in excerpt[:begin])
    return blank + "^" + "~" * (min(end, len(excerpt)) - begin - 1)


class Report:
    """The findings of a check or a run, in the order of the text."""

    def __init__(self, findings: Tuple[Finding, ...], text: Optional[str] = None) -> None:
        self.findings = findings
        self.text = text  # what was looked at, where known: the text that fix-its count in

    def of(self, severity: str) -> Tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(f for f in self.findings if f.severity == severity)

    @property
    def errors(self) -> Tuple[Finding, ...]:
        """What goes wrong."""
        return self.of("error")

    @property
    def portability(self) -> Tuple[Finding, ...]:
        """What holds on today's hardware and not by the PTX ISA."""
        return self.of("portability")

    @property
    def notes(self) -> Tuple[Finding, ...]:
        """What is worth knowing."""
        return self.of("note")

    @property
    def incomplete(self) -> Tuple[Finding, ...]:
        """What Kiln does not model, and so cannot call right."""
        return self.of("incomplete")

    @property
    def ok(self) -> bool:
        """No error, and everything was understood."""
        return not self.errors and not self.incomplete

    @property
    def summary(self) -> str:
        """ "2 errors, 1 portability"; "clean" when there is nothing to say."""
        return ", ".join(_count(len(self.of(s)), s) for s in SEVERITIES if self.of(s)) or "clean"

    @property
    def summary_by_rule(self) -> str:
        """The same with the rules of what is no error: "1 error, 3 portability (tcgen05-fence x2, tcgen05-ld-wait x1)"."""
        said = []
        for severity in SEVERITIES:
            findings = self.of(severity)
            slugs = [f.slug for f in findings if f.slug and severity != "error"]
            rules = ", ".join(f"{slug} x{slugs.count(slug)}" for slug in dict.fromkeys(slugs))
            if findings:
                said.append(_count(len(findings), severity) + (f" ({rules})" if rules else ""))
        return ", ".join(said) or "clean"

    def raise_for_errors(self) -> "Report":
        """Raises CheckError if there are errors; returns the report."""
        if self.errors:
            raise CheckError(self)
        return self

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __bool__(self) -> bool:
        return True  # a report without findings is a report: ask `ok`

    def __repr__(self) -> str:
        return f"<kiln.Report: {self.summary}>"

    def __str__(self) -> str:
        return "\n".join([*(str(f) for f in self.findings), self.summary])

    def grouped(self) -> str:
        """The findings as an overview: of more than three portability findings or notes of one rule, the first and the lines
        of the others."""
        alike: Dict[Tuple[str, str], List[Finding]] = {}
        for f in self.findings:
            alike.setdefault((f.severity, f.slug), []).append(f)
        lines = []
        for f in self.findings:
            others = alike[f.severity, f.slug][1:]
            if f.severity not in ("portability", "note") or len(others) < 3:
                lines.append(str(f))
            elif f is alike[f.severity, f.slug][0]:
                places = ", ".join(str(o.place.line) for o in others if o.place)
                lines += [str(f), f"{f.severity}: the same rule at {len(others)} more places: lines {places} [{f.slug}]"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        colours = {"error": "#c0392b", "portability": "#b9770e", "note": "#2471a3", "incomplete": "#7d3c98"}
        rows = "".join(
            f'<tr style="vertical-align:top"><td style="color:{colours[f.severity]}"><b>{f.severity}</b></td>'
            f'<td style="text-align:left"><code>{html.escape(f.slug)}</code></td>'
            f'<td style="text-align:left"><pre style="margin:0">{html.escape(str(f))}</pre></td></tr>'
            for f in self.findings)
        return f"<p><b>{html.escape(self.summary)}</b></p>" + (f"<table>{rows}</table>" if rows else "")


class CheckError(Exception):
    """Errors in a kernel. The message is what the command prints; `report` has it in parts."""

    def __init__(self, report: Report) -> None:
        super().__init__("\n" + "\n".join(str(f) for f in report.errors) + "\n" + report.summary)
        self.report = report


def _place(json: Mapping[str, Any]) -> Optional[Place]:
    if not json.get("file") and not json.get("line"):
        return None
    names = ("line", "column", "end_line", "end_column")
    return Place(json.get("file", ""), *(int(json.get(n, 0)) for n in names))


def read_report(diagnostics: List[Dict[str, Any]], text: Optional[str] = None) -> Report:
    """The report in the member "diagnostics" of what a command prints with --json."""
    # As bytes: columns count them.
    lines = text.encode().decode("latin-1").split("\n") if text is not None else []
    findings = []
    for d in diagnostics:
        place = _place(d)
        excerpt = lines[place.line - 1] if place and place.column and place.line <= len(lines) else ""
        findings.append(Finding(
            d["severity"], d.get("slug", ""), d["message"], place, _place(d.get("behind", {})),
            tuple(Edit(f["begin"], f["end"], f["text"]) for f in d.get("fixits", ())),
            tuple(Note(n["message"], _place(n)) for n in d.get("notes", ())), d.get("reference", ""), excerpt))
    return Report(tuple(findings), text)

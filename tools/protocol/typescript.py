"""Generates vscode-extension/src/core/kinds.gen.ts: how the editor presents each kind of finding."""
from protocol import macros

PATH = "vscode-extension/src/core/kinds.gen.ts"
HEAD = """// How the editor presents each kind of finding.
// Written by tools/make_protocol.py from findings.def; edit that and run it again.
export type Severity = 'error' | 'warning' | 'information';

export interface Kind {
  severity: Severity;
  /** What happened, for the sentence at the top of a failure. */
  phrase: string;
  /** True if a tolerance decides the finding, because it is about the size of an error. */
  tolerance: boolean;
}

export const KINDS: Record<string, Kind> = {
"""


def quoted(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def files(root):
    text = HEAD
    for kind, _, _, check, _, severity, phrase, _ in macros.rows_of(root / "common/protocol/tables/findings.def", "GPUEMU_FINDING"):
        tolerance = str(check == "Tolerance").lower()
        text += f"  {kind}: {{ severity: '{severity.lower()}', phrase: '{quoted(phrase)}', tolerance: {tolerance} }},\n"
    return {PATH: text + "};\n"}

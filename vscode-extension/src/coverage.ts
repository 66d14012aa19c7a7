// Converts the coverage of kernels for the editor.

import * as vscode from 'vscode';
import { readCoverage } from './core/coverage';
import { Json } from './core/json';

export interface CoveredLines {
  file: vscode.FileCoverage;
  details: vscode.StatementCoverage[];
}

export function coverageOf(value: Json): CoveredLines[] {
  return readCoverage(value).map(({ file, lines }) => {
    const details = lines.map((line) => new vscode.StatementCoverage(
      line.hits, new vscode.Position(line.line - 1, 0),
      line.ways.map((way) => new vscode.BranchCoverage(
        way.hits, new vscode.Position(line.line - 1, 0),
        way.toLine > 0 ? `goes on at line ${way.toLine}` : 'ends'))));
    const one = vscode.FileCoverage.fromDetails(vscode.Uri.file(file), details);
    return { file: one, details };
  });
}

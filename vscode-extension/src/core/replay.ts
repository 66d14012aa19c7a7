// Chooses the stored failures that are executed again after a run.

import { CaseResult, RunReport } from './records';
import { groupOf } from './verdict';

/** Most failures in one group; the tool's list is unlimited. */
const GROUP_MAX = 200;

/**
 * The failures of the run's ops, newest first in each group. Leaves out the groups that the run has
 * found again: they still fail, whatever their other cases do.
 */
export function groupsToReplay(
  failures: CaseResult[], report: RunReport | undefined,
): CaseResult[][] {
  const executed = (report?.ops ?? []).filter((op) => op.passed + op.failed > 0);
  const found = new Set(executed.flatMap((op) => op.failures).map(groupOf));
  const wasRun = (one: CaseResult): boolean => executed.some((op) =>
    op.op === one.op && (op.dtype === '' || op.dtype === one.dtype));
  const groups = new Map<string, CaseResult[]>();
  for (const one of failures) {
    const key = groupOf(one);
    if (one.passesNow || found.has(key) || !wasRun(one)) continue;
    const group = groups.get(key) ?? [];
    if (group.length < GROUP_MAX) group.push(one);
    groups.set(key, group);
  }
  return [...groups.values()];
}

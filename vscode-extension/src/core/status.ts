// The text of the status bar.

import { RunSummary } from './verdict';
import { counted } from './words';

export interface StatusInput {
  trusted: boolean;
  daemon: 'running' | 'stopped' | 'silent';
  failures: number;
  problem?: string;
  jobs: { title: string; detail: string }[];
  last?: RunSummary;
}

export interface StatusShown {
  text: string;
  tooltip: string;
  accessible: string;
  broken: boolean;
}

function lastText(last: RunSummary | undefined): string {
  if (!last) return 'nothing run yet';
  if (last.cancelled) return 'last run cancelled';
  const parts = [`${last.passed} passed`];
  if (last.failed > 0) parts.push(`${last.failed} failed`);
  if (last.errored > 0) parts.push(`${last.errored} without a verdict`);
  return `last run ${parts.join(', ')}`;
}

export function statusText(input: StatusInput): StatusShown {
  const job = input.jobs[0];
  const daemon = input.daemon === 'silent' ? 'daemon does not answer' : `daemon ${input.daemon}`;
  const running = job ? `running ${job.title} ${job.detail}`.trim() : 'no job running';
  const stored = counted(input.failures, 'stored failure');
  const told = input.trusted ? [daemon, lastText(input.last), running, stored]
    : ['the folder is not trusted, so nothing runs'];
  if (input.problem) told.push(input.problem);
  const text = !input.trusted ? 'gpuemu $(shield)'
    : job ? `gpuemu $(sync~spin)${job.detail === '' ? '' : ` ${job.detail}`}`
      : input.problem || input.daemon === 'silent' ? 'gpuemu $(warning)'
        : input.failures > 0 ? `gpuemu $(error) ${input.failures}`
          : input.last && input.last.errored === 0 && !input.last.cancelled
            ? 'gpuemu $(check)' : 'gpuemu';
  return {
    text,
    tooltip: `gpuemu\n${told.join('\n')}`,
    accessible: `gpuemu, ${told.join(', ')}`,
    broken: input.trusted && (input.problem !== undefined || input.daemon === 'silent'),
  };
}

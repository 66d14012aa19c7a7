// Formats counts of things.

/** "1 failure", "2 failures". */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

/** "1 of 1 case fails", "2 of 3 cases fail". */
export const someFail = (failed: number, cases: number): string =>
  `${failed} of ${counted(cases, 'case')} ${failed === 1 ? 'fails' : 'fail'}`;

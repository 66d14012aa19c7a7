// Formats counts of things.

/** "1 failure", "2 failures". */
export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

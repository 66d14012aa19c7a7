// The time at which the extension began to be loaded: extension.ts imports this module first.

export const loadedAt = performance.now();

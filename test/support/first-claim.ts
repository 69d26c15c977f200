/** For a claim: the one that is due longest. */
export const FIRST = { limit: 1, choose: <R>(found: readonly R[]): R[] => [...found] }

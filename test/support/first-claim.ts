/** For a claim of deliveries or pushes: nothing is under way. */
export const NONE_BUSY = { busyHosts: [], busyAccounts: [], busyPairs: [] }

/** For a claim of cards: nothing is under way. */
export const NO_CARD_BUSY = { busyRecipients: [], busyEdits: [], busyAccounts: [] }

/** For a claim: the one that is due longest. */
export const FIRST = { limit: 1, choose: <R>(found: readonly R[]): R[] => [...found] }

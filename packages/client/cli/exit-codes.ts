/** How a command ends. Only 0 lets a script go on. */
export const EXIT = {
  approved: 0,
  rejected: 10,
  expired: 11,
  withdrawn: 12,
  pending: 13,
  used: 14,
  /** Nothing was decided: a wrong call, no service, a refusal. */
  couldNotAsk: 20,
} as const

/** `calls` in any `ms` milliseconds, as Teams counts one bot in one conversation. */
const WINDOWS = [
  { calls: 7, ms: 1_000 },
  { calls: 8, ms: 2_000 },
  { calls: 60, ms: 30_000 },
]

/** Counts calls as Teams does, with windows of its own and no margin. */
export interface TeamsPace {
  /** Counts the call. @returns seconds to wait when it is one too many; it is not counted then */
  take(conversation: string): number | undefined
}

/** @param strict 2 lets through half of what Teams does, and refuses the fifth call however slowly the bot sends */
export function createTeamsPace(strict = 1): TeamsPace {
  const taken = new Map<string, number[]>()
  let asked = 0
  return {
    take(conversation) {
      asked += 1
      if (strict > 1 && asked === 5) return 1
      const now = performance.now()
      const times = taken.get(conversation) ?? []
      taken.set(conversation, times)
      for (const { calls, ms } of WINDOWS) {
        const allowed = Math.max(1, Math.floor(calls / strict))
        const recent = times.filter((time) => time > now - ms)
        const [oldest] = recent.slice(-allowed)
        if (recent.length >= allowed && oldest !== undefined) {
          return Math.max(1, Math.ceil((oldest + ms - now) / 1000))
        }
      }
      times.push(now)
      return undefined
    },
  }
}

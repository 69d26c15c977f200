interface Ordered {
  high_impact: boolean
  created_at: string
}

/** High impact first, then the oldest: what matters most is never below what can wait (T18). */
export function inOrder<T extends Ordered>(requests: readonly T[]): T[] {
  return [...requests].sort(
    (a, b) =>
      Number(b.high_impact) - Number(a.high_impact) || Date.parse(a.created_at) - Date.parse(b.created_at),
  )
}

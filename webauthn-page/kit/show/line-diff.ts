/** One line of a comparison: in both texts, only in the former one, or only in the new one. */
export interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

/** Most edits that are searched for the shortest way; beyond, the middle is shown as replaced as a whole, which is as true. */
const MOST_EDITS = 1_000

/** Compares two texts line by line (Myers, "An O(ND) difference algorithm", 1986). */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1
  let [oldEnd, nowEnd] = [old.length, now.length]
  while (oldEnd > start && nowEnd > start && old[oldEnd - 1] === now[nowEnd - 1]) {
    oldEnd -= 1
    nowEnd -= 1
  }
  const middle = [old.slice(start, oldEnd), now.slice(start, nowEnd)] as const
  return [
    ...lines(' ', old.slice(0, start)),
    ...(shortest(...middle) ?? [...lines('-', middle[0]), ...lines('+', middle[1])]),
    ...lines(' ', old.slice(oldEnd)),
  ]
}

function lines(sign: DiffLine['sign'], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => ({ sign, text }))
}

/** How far into the former text each diagonal has come; the diagonal 0 is in the middle. */
type Ends = Int32Array
const MIDDLE = MOST_EDITS + 1

function at(ends: Ends, k: number): number {
  return ends[k + MIDDLE] ?? 0
}

/** @returns undefined when the texts differ too much */
function shortest(old: readonly string[], now: readonly string[]): DiffLine[] | undefined {
  const ends: Ends = new Int32Array(2 * MOST_EDITS + 3)
  const trace: Ends[] = []
  for (let edits = 0; edits <= Math.min(MOST_EDITS, old.length + now.length); edits += 1) {
    trace.push(ends.slice())
    for (let k = -edits; k <= edits; k += 2) {
      const down = isDown(ends, k, edits)
      let x = down ? at(ends, k + 1) : at(ends, k - 1) + 1
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x += 1
      ends[k + MIDDLE] = x
      if (x >= old.length && x - k >= now.length) return wayBack(trace, old, now)
    }
  }
  return undefined
}

function isDown(ends: Ends, k: number, edits: number): boolean {
  return k === -edits || (k !== edits && at(ends, k - 1) < at(ends, k + 1))
}

function wayBack(trace: readonly Ends[], old: readonly string[], now: readonly string[]): DiffLine[] {
  const found: DiffLine[] = []
  let [x, y] = [old.length, now.length]
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const ends = trace[edits] ?? new Int32Array()
    const k = x - y
    const down = isDown(ends, k, edits)
    const from = at(ends, down ? k + 1 : k - 1)
    const fromY = from - (down ? k + 1 : k - 1)
    while (x > Math.max(from, 0) && y > Math.max(fromY, 0) && old[x - 1] === now[y - 1]) {
      x -= 1
      y -= 1
      found.push({ sign: ' ', text: old[x] ?? '' })
    }
    if (edits === 0) break
    if (down) found.push({ sign: '+', text: now[y - 1] ?? '' })
    else found.push({ sign: '-', text: old[x - 1] ?? '' })
    x = from
    y = fromY
  }
  return found.reverse()
}

/** Lines that stay the same around each change. */
const AROUND = 3

/** Returns the changes with the lines around them; a number stands for so many equal lines that are left out. */
export function hunks(all: readonly DiffLine[]): (DiffLine | number)[] {
  const near = new Set<number>()
  for (const [index, { sign }] of all.entries())
    if (sign !== ' ') for (let at = index - AROUND; at <= index + AROUND; at += 1) near.add(at)
  const shown: (DiffLine | number)[] = []
  for (const [index, line] of all.entries()) {
    const last = shown.at(-1)
    if (near.has(index)) shown.push(line)
    else if (typeof last === 'number') shown[shown.length - 1] = last + 1
    else shown.push(1)
  }
  return shown
}

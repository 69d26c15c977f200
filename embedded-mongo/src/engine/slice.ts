/** Milliseconds a command may work before the others get their turn. */
const SLICE_MS = 10

/**
 * Work that is done in slices: it yields when its slice is over, and goes on when `next` is called. Between two
 * slices any other command may run, so what was read before a yield may have changed after it.
 */
export type Steps<T> = Generator<undefined, T, undefined>

/** The time slice of the running command. */
export class Slice {
  #end = 0

  start(): void {
    this.#end = performance.now() + SLICE_MS
  }

  get over(): boolean {
    return performance.now() >= this.#end
  }
}

/** Runs steps to the end without letting other commands run. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Elements that are sorted in one go: a millisecond or two. */
const RUN = 1024

/** Sorts `items` stably, and lets other commands run meanwhile. */
export function* sortInSlices<T>(
  items: readonly T[],
  compare: (left: T, right: T) => number,
  slice: Slice,
): Steps<T[]> {
  let runs: T[][] = []
  for (let start = 0; start < items.length; start += RUN) {
    runs.push(items.slice(start, start + RUN).sort(compare))
    if (slice.over) yield
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], compare, slice))
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<T>(left: T[], right: T[], compare: (left: T, right: T) => number, slice: Slice): Steps<T[]> {
  const merged: T[] = []
  let at = 0
  for (const item of left) {
    for (let other = right[at]; other !== undefined && compare(other, item) < 0; other = right[at]) {
      merged.push(other)
      at += 1
    }
    merged.push(item)
    if (merged.length % RUN === 0 && slice.over) yield
  }
  for (const item of right.slice(at)) merged.push(item)
  return merged
}

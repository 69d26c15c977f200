import { untilHolds } from './patience.ts'
import type { TestService } from './service.ts'

/** Starts requests and resolves once all of them hang on the change signal, which is what waits and streams wait on. */
export async function startWaits<T>(
  service: TestService,
  starts: (() => Promise<T>)[],
): Promise<Promise<T>[]> {
  const { changes } = service.composition.deps
  const { watch: original } = changes
  const watchers = new Set<() => void>()
  let left = starts.length
  changes.watch = (...ids) => {
    const watch = original(...ids)
    let waits = false
    return {
      ...watch,
      next(...limits) {
        const news = watch.next(...limits)
        if (!waits) left -= 1
        waits = true
        for (const look of [...watchers]) look()
        return news
      },
    }
  }
  const answers = starts.map((start) => start())
  await untilHolds(watchers, 'all hang', () => left <= 0)
  changes.watch = original
  return answers
}

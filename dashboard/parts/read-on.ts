/** One page of a list of the service. */
export interface ListPage<T> {
  data: readonly T[]
  next_cursor: string | null
}

/** Where a list is read to its end at once: more than these are not read. */
const MOST = 1000

/** The list from its first page on, to its end or to `most`. @throws as `load` */
export async function readOn<T>(
  first: ListPage<T>,
  load: (cursor: string) => Promise<ListPage<T>>,
  most = MOST,
): Promise<{ data: T[]; complete: boolean }> {
  const data = [...first.data]
  let cursor = first.next_cursor
  while (cursor !== null && data.length < most) {
    const page = await load(cursor)
    data.push(...page.data)
    cursor = page.next_cursor
  }
  return { data, complete: cursor === null }
}

/** One page of a list of the service. */
export interface ListPage<T> {
  data: readonly T[]
  next_cursor: string | null
}

/** The most entries that are read of a list, if not told otherwise. */
const MOST = 1000

/** Reads a list on from its first page, to its end or until `most` entries are read. @throws as `load` */
export async function readPages<T>(
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

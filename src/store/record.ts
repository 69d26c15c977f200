/** What a document has besides its record: the outbox token, and who holds it for an attempt. */
interface Kept {
  _id: string
  outbox_token?: string
  holder?: string
}

/** The record that a document keeps: with its id as `id`, and nothing that is the store's own. */
export function recordOf<D extends Kept>({ _id, outbox_token: _token, holder: _holder, ...rest }: D) {
  return { id: _id, ...rest }
}

/** The record of what was found, if anything was. */
export function recordIn<D extends Kept>(document: D | null | undefined) {
  return document === null || document === undefined ? undefined : recordOf(document)
}

/** The update that sets these fields; `null` removes one, undefined leaves it. */
export function replacing(fields: object): { $set?: object; $unset?: object } {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  const set = Object.fromEntries(given.filter(([, value]) => value !== null))
  const unset = Object.fromEntries(given.filter(([, value]) => value === null).map(([key]) => [key, 1]))
  return {
    ...(Object.keys(set).length > 0 ? { $set: set } : {}),
    ...(Object.keys(unset).length > 0 ? { $unset: unset } : {}),
  }
}

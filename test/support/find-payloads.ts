/**
 * The receipts' payloads with this decision anywhere in a value: as objects, as JSON text, and as base64 or base64url of it, at
 * any depth. Intents are no payloads: they have no decision id. Looks without the code under test.
 */
export function payloadsIn(value: unknown, decision: 'approved' | 'rejected'): object[] {
  if (typeof value === 'string') return readingsOf(value).flatMap((read) => payloadsIn(read, decision))
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap((one) => payloadsIn(one, decision))
  const says = Reflect.get(value, 'did') !== undefined && Reflect.get(value, 'decision') === decision
  return says ? [value, ...inner] : inner
}

/** Every JSON object or list that a text is, plainly or encoded. */
function readingsOf(text: string): object[] {
  return [text, Buffer.from(text, 'base64url').toString('utf8')].flatMap((candidate) => {
    try {
      const read: unknown = JSON.parse(candidate)
      return typeof read === 'object' && read !== null ? [read] : []
    } catch {
      return []
    }
  })
}

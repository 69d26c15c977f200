import { isId } from '../../src/domain/identifier.ts'
import { readPaste } from '../../src/domain/read-paste.ts'
import { parseUrl } from '../../webauthn-page/kit/parse-url.ts'

/** Bytes of the largest input: 1 MiB, as in `countersign verify`. The service's own answers are far smaller. */
export const MAX_BYTES = 1_048_576

/** The visitor's input to check. Nothing in it is trusted. */
export type Subject =
  | { kind: 'id'; id: string; of: 'request' | 'decision' }
  | { kind: 'receipt'; json: object; text: string }
  /** An input that cannot be checked; the sentence says why. */
  | { kind: 'problem'; sentence: string }

/**
 * Reads dropped or pasted text: an id, a link to a request of this service (`origin`), or JSON in any form that carries a
 * receipt.
 */
export function readSubject(text: string, origin: string): Subject {
  const trimmed = text.trim()
  if (trimmed === '') return problem('Paste a receipt, a link or an id first, or choose a file.')
  if (isTooLong(trimmed)) return problem('This is longer than 1 MiB; no receipt is. Nothing was read.')
  const id = readId(trimmed)
  if (id !== undefined) return id
  if (/^https?:\/\//i.test(trimmed)) return readLink(trimmed, origin)
  const json = readPaste(trimmed, MAX_BYTES)
  if (json === undefined)
    return problem(
      'This is not an id, a link or JSON. Paste the receipt exactly as you received it, from the first { to the last }.',
    )
  if (/^keys(,restores)?$/.test(Object.keys(json).join()))
    return problem('This is a key set, not a receipt. Paste it under “Use a saved key set”.')
  return { kind: 'receipt', json, text: trimmed }
}

/** Checks the length; counts bytes only if the number of characters is not decisive. */
function isTooLong(text: string): boolean {
  return text.length > MAX_BYTES || new TextEncoder().encode(text).length > MAX_BYTES
}

function readId(text: string): Subject | undefined {
  if (isId('req', text)) return { kind: 'id', id: text, of: 'request' }
  return isId('dec', text) ? { kind: 'id', id: text, of: 'decision' } : undefined
}

function readLink(text: string, origin: string): Subject {
  const url = parseUrl(text)
  if (url === undefined) return problem('This link is broken. Copy it again, or paste the id in it.')
  if (url.origin !== origin) {
    return problem(
      `This link leads to another service, ${url.host}. This page knows only the keys of its own service; check the receipt there.`,
    )
  }
  const parts = [...url.pathname.split('/'), url.hash.slice(1)]
  const found = parts.map(readId).find((subject) => subject !== undefined)
  return found ?? problem('There is no request id in this link.')
}

function problem(sentence: string): Subject {
  return { kind: 'problem', sentence }
}

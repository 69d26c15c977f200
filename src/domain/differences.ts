/** A field of a context that is another one than before; undefined where there is none. */
export interface Difference {
  /** Names from the outside in, with dots between. */
  field: string
  before: string | undefined
  now: string | undefined
}

/** UTF-16 units of a value. */
const LONGEST = 200

/** What of `now` is another value than in `before`, field by field down to what is no object; lists are compared whole. */
export function differences(before: Record<string, unknown>, now: Record<string, unknown>): Difference[] {
  const [old, fresh] = [leavesOf(before), leavesOf(now)]
  return [...new Set([...fresh.keys(), ...old.keys()])]
    .filter((field) => old.get(field) !== fresh.get(field))
    .map((field) => ({ field, before: cut(old.get(field)), now: cut(fresh.get(field)) }))
}

function leavesOf(value: Record<string, unknown>, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, inner]): [string, string][] =>
      isRecord(inner) ? [...leavesOf(inner, `${path}${key}.`)] : [[`${path}${key}`, textOf(inner)]],
    ),
  )
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

/** Told apart from what it could be taken for: the text "true" from the value true. */
const LIKE_JSON = /^(true$|false$|null$|[-\d"[{])/

function textOf(value: unknown): string {
  return typeof value === 'string' && !LIKE_JSON.test(value) ? value : JSON.stringify(value)
}

function cut(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}

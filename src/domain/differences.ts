/** A field whose value differs between two contexts; `before` or `now` is undefined when that context lacks the field. */
export interface Difference {
  /** Path of names from the outermost in, joined by dots. */
  field: string
  before: string | undefined
  now: string | undefined
}

/** Most UTF-16 units shown of a value. */
const LONGEST = 200

/** Lists the fields whose values differ, including added and removed ones. Objects are compared field by field, lists whole. */
export function differences(before: Record<string, unknown>, now: Record<string, unknown>): Difference[] {
  const [old, fresh] = [leavesOf(before), leavesOf(now)]
  return [...new Set([...fresh.keys(), ...old.keys()])]
    .filter((field) => old.get(field) !== fresh.get(field))
    .map((field) => ({ field, before: cut(old.get(field)), now: cut(fresh.get(field)) }))
}

function leavesOf(value: Record<string, unknown>, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([key, inner]): [string, string][] =>
      isRecord(inner)
        ? [...leavesOf(inner, `${path}${segment(key)}.`)]
        : [[`${path}${segment(key)}`, textOf(inner)]],
    ),
  )
}

/** Returns the name in quotes if it could pass for a path: `a.b` is the field b of a, `"a.b"` a field of that name. */
export function segment(key: string): string {
  return key === '' || /[."[\]]/.test(key) ? JSON.stringify(key) : key
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

/** Texts that look like JSON: they are shown in quotes, which tells the text "true" from the value true. */
const LIKE_JSON = /^(true$|false$|null$|[-\d"[{])/

function textOf(value: unknown): string {
  return typeof value === 'string' && !LIKE_JSON.test(value) ? value : JSON.stringify(value)
}

function cut(text: string | undefined): string | undefined {
  return text === undefined || text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}

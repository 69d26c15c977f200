import { isAbsolute, normalize, sep } from 'node:path'
import { canonical, type Json, type JsonObject } from '../../src/json.ts'
import { foldCase } from './client-message.ts'

/**
 * What a condition says about one value: undefined if the value is not there, or of another kind than the condition is about. An
 * unknown never opens the gate (`decide`).
 */
export type Test = (value: Json | undefined) => boolean | undefined

/** A condition on the arguments of a call: a path into them, and what must hold there. */
export interface Condition {
  /** As written; a name for each level, `*` for every item of a list. */
  path: string
  tests: readonly Test[]
}

/** Asks whether all conditions hold. @returns undefined if that is unknown for one, and none is broken */
export function holds(conditions: readonly Condition[], given: JsonObject): boolean | undefined {
  return all(
    conditions.flatMap(({ path, tests }) => {
      const values = valuesAt(given, path.split('/').map(unescapeName))
      return tests.map((test) => agree(values.map((value) => (value === UNSURE ? undefined : test(value)))))
    }),
  )
}

/**
 * Stands for an argument whose name is written in other letters: some servers take it all the same. Also for one within a value of
 * another kind, which a server may read as it likes: a text as JSON, a list of one as its item.
 */
const UNSURE = Symbol('unsure')
type Found = Json | undefined | typeof UNSURE

/** The values at a path; `[undefined]` if there is none. */
function valuesAt(value: Found, [name, ...rest]: readonly string[]): Found[] {
  if (name === undefined) return [value]
  if (name === '*' && Array.isArray(value) && value.length > 0)
    return value.flatMap((item: Json) => valuesAt(item, rest))
  return valuesAt(memberOf(value, name), rest)
}

/** Only what the caller sent: `constructor` is no argument unless it says so. */
function memberOf(value: Found, name: string): Found {
  if (value === undefined || value === UNSURE) return value
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return UNSURE
  if (Object.hasOwn(value, name)) return Reflect.get(value, name)
  const folded = foldCase(name)
  return Object.keys(value).some((key) => foldCase(key) === folded) ? UNSURE : undefined
}

/** The value at a path without `*`. */
export function valueAt(given: JsonObject, path: string): Json | undefined {
  const [value] = valuesAt(given, path.split('/').map(unescapeName))
  return value === UNSURE ? undefined : value
}

/** As in JSON Pointer (RFC 6901): `~1` is a slash in a name, `~0` a tilde. */
function unescapeName(name: string): string {
  return name.replace(/~[01]/g, (sign) => (sign === '~1' ? '/' : '~'))
}

function all(answers: readonly (boolean | undefined)[]): boolean | undefined {
  if (answers.includes(false)) return false
  return answers.includes(undefined) ? undefined : true
}

/** The items of a list of which some hold and some do not are neither: a rule that denies then counts, one that allows does not. */
function agree(answers: readonly (boolean | undefined)[]): boolean | undefined {
  const [first] = answers
  return answers.every((answer) => answer === first) ? first : undefined
}

/** Whether a value equals one of these. Another kind of value than all of them, such as "5" beside 5, is unknown. */
export function oneOf(wanted: readonly Json[]): Test {
  const texts = new Set(wanted.map(canonical))
  const kinds = new Set(wanted.map(kindOf))
  return (value) => {
    if (value === undefined || !kinds.has(kindOf(value))) return undefined
    return texts.has(canonical(value))
  }
}

function kindOf(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** Compares a number, also one in a text. */
export function compared(by: (value: number) => boolean): Test {
  return (value) => {
    const number = numberIn(value)
    return number === undefined ? undefined : by(number)
  }
}

function numberIn(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value
  // Of more digits, some would be lost in the comparison.
  const isDecimal = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) && value.length <= 16
  return isDecimal ? Number(value) : undefined
}

/** Whether the whole of a text matches; unknown if that depends on whether `.` stands for a line break too. */
export function matched(pattern: RegExp): Test {
  const acrossLines = new RegExp(pattern, `${pattern.flags}s`)
  return (value) =>
    typeof value === 'string' ? agree([pattern.test(value), acrossLines.test(value)]) : undefined
}

/**
 * Whether an absolute path leads into one of these folders, after `..` and `.` are taken out. Links are not followed: they are on the
 * server's machine.
 */
export function inside(folders: readonly string[]): Test {
  const roots = folders.map((folder) => `${normalize(folder)}${sep}`.replace(/[\\/]+$/, sep))
  return (value) => {
    if (typeof value !== 'string' || !isAbsolute(value) || value.includes('\0')) return undefined
    const path = `${normalize(value)}${sep}`
    return roots.some((root) => path.startsWith(root))
  }
}

export function present(wanted: boolean): Test {
  return (value) => (value !== undefined) === wanted
}

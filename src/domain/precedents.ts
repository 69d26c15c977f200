import { segment } from './differences.ts'
import { isObject, type Likeness } from './likeness.ts'
import type { Outcome } from './receipt.ts'

/** An earlier request of the same kind that people decided. */
export interface Precedent {
  decision: Outcome
  decided_at: Date
  context_json: string
}

/**
 * How a field differs from the earlier approved requests. `times`: it is so many times the usual number, their median. `changed`:
 * its value is none of those approved, although the field has few. `missing`: each of them had it. `added`: none of them had it.
 */
export interface Departure {
  field: string
  how: 'times' | 'changed' | 'missing' | 'added'
  times?: number | undefined
  usual?: number | undefined
}

/** What people decided about a key's earlier requests of the same kind, and how this one differs from those they approved. */
export interface Precedents {
  likeness: Likeness
  /** Counts only requests that the reader may see: those that name them, or on which they voted. */
  own: boolean
  approved: number
  rejected: number
  /** There are older ones, which were not counted. */
  at_least: boolean
  last: Pick<Precedent, 'decision' | 'decided_at'> | undefined
  /** The gravest first. */
  departures: Departure[]
}

/** Earlier requests that are looked at; the latest ones. */
export const MOST_PRECEDENTS = 50

/** UTF-16 units of earlier contexts that are compared: large ones cost milliseconds each, and are like each other. */
const MOST_COMPARED = 128 * 1024

/**
 * Compares a context with those of earlier approved requests. Numbers count as numbers also in a text (`"1,200.00 EUR"`), since a
 * caller chooses how to write them, and entries of a list count each.
 * @param earlier the latest first
 */
export function departuresFrom(earlier: readonly Precedent[], context: Record<string, unknown>): Departure[] {
  const approved = texts(earlier).map((text) => fieldsOf(JSON.parse(text)))
  if (approved.length === 0) return []
  const now = fieldsOf(context)
  const names = new Set([...now.keys(), ...approved.flatMap((fields) => [...fields.keys()])])
  const found = [...names].flatMap((field) => departure(field, now.get(field), approved) ?? [])
  return found.sort((a, b) => gravity(b) - gravity(a))
}

function texts(earlier: readonly Precedent[]): string[] {
  let size = 0
  return earlier
    .filter(({ decision }) => decision === 'approved')
    .map(({ context_json }) => context_json)
    .filter((text, index) => {
      size += text.length
      return index === 0 || size <= MOST_COMPARED
    })
}

const GRAVITY = { times: 3, changed: 2, missing: 1, added: 0 } as const

/** Numbers come first, by how far they are from the usual, so that no crowd of new fields hides them. */
function gravity({ how, times = 1 }: Departure): number {
  return GRAVITY[how] + Math.abs(Math.log(times))
}

type Fields = ReadonlyMap<string, unknown[]>

/** Derived from others, or different each time. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['tool', 'tool_arguments_fingerprint', 'reason'])

/** Returns each field's values by its path; that of a list ends with `[]`, and its length is a value of its own. */
function fieldsOf(context: unknown): Fields {
  const fields = new Map<string, unknown[]>()
  const add = (path: string, value: unknown): void => {
    const values = fields.get(path)
    if (values === undefined) fields.set(path, [value])
    else values.push(value)
  }
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      add(`${path}[].length`, value.length)
      for (const item of value) visit(item, `${path}[]`)
    } else if (isObject(value) && Object.keys(value).length > 0) {
      for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${segment(key)}`)
    } else add(path, value)
  }
  for (const [key, value] of Object.entries(isObject(context) ? context : {}))
    if (!NOT_COMPARED.has(key)) visit(value, segment(key))
  return fields
}

function departure(
  field: string,
  now: readonly unknown[] | undefined,
  approved: readonly Fields[],
): Departure | undefined {
  const before = approved.flatMap((fields) => fields.get(field) ?? [])
  if (before.length === 0) return { field, how: 'added' }
  if (now === undefined)
    return approved.every((fields) => fields.has(field)) ? { field, how: 'missing' } : undefined
  const amounts = before.map(amountOf)
  if (amounts.every((amount) => amount !== undefined)) return farFrom(field, now, amounts)
  const known = new Set(before.map((value) => JSON.stringify(value)))
  // Fields with another value each time, such as an invoice number, would be new in every request.
  const isFree = approved.length > 1 && known.size * 2 > before.length
  const isKnown = isFree || now.every((value) => known.has(JSON.stringify(value)))
  return isKnown ? undefined : { field, how: 'changed' }
}

/** How many times more or less than the usual is said; within what was approved nothing is. */
const FAR = 2

/** Compares the number that is farthest from the usual. */
function farFrom(field: string, now: readonly unknown[], before: readonly Amount[]): Departure | undefined {
  const units = new Set(before.map(({ unit }) => unit))
  const sorted = before.map(({ number }) => number).sort((a, b) => a - b)
  const usual = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  const [least = 0, most = 0] = [sorted[0], sorted.at(-1)]
  let times = 1
  for (const value of now) {
    const amount = amountOf(value)
    if (amount === undefined || !units.has(amount.unit)) return { field, how: 'changed' }
    const { number } = amount
    if (number >= least && number <= most) continue
    if (number * usual <= 0) return { field, how: 'changed' }
    const ratio = number / usual
    if (Math.abs(Math.log(ratio)) > Math.abs(Math.log(times))) times = ratio
  }
  if (times < FAR && times > 1 / FAR) return undefined
  return { field, how: 'times', times: Number(Math.min(Math.max(times, 1e-9), 1e9).toPrecision(2)), usual }
}

interface Amount {
  number: number
  /** What stands before or after the number in a text. */
  unit: string
}

/**
 * A number, perhaps with a currency sign, or a currency or unit after or before a blank; thousands separated by commas or not at all.
 * `INV4711` and `0042` are names, not numbers.
 */
const AMOUNT =
  /^(?<before>\p{Sc} ?|[A-Za-z]{2,4} )?(?<number>[+-]?(?:[1-9]\d{0,2}(?:,\d{3}){1,5}|0|[1-9]\d{0,17})(?:\.\d{1,18})?)(?<after> ?[\p{Sc}%]| [A-Za-z]{1,4})?$/u

function amountOf(value: unknown): Amount | undefined {
  if (typeof value === 'number') return { number: value, unit: '' }
  const parts = typeof value === 'string' ? AMOUNT.exec(value)?.groups : undefined
  if (parts?.number === undefined) return undefined
  const { before = '', number, after = '' } = parts
  return { number: Number(number.replaceAll(',', '')), unit: `${before.trim()} ${after.trim()}`.trim() }
}

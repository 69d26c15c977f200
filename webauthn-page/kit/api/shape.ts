/** Checks that an untyped JSON value has the form the page relies on; error messages name the value by `path`. */
export type Shape<T> = (value: unknown, path: string) => T

/** The service's answer is not what this page expects. The page then shows nothing of it rather than half of it. */
export class ShapeError extends Error {
  constructor(path: string, expected: string) {
    super(`${path} is not ${expected}`)
    this.name = 'ShapeError'
  }
}

/** Checks whether the value is a JSON object (not null, not an array). */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A JSON object with any content. */
export const anyObject: Shape<Record<string, unknown>> = (value, path) => {
  if (!isRecord(value)) throw new ShapeError(path, 'an object')
  return value
}

export const text: Shape<string> = (value, path) => {
  if (typeof value !== 'string') throw new ShapeError(path, 'a text')
  return value
}

export const count: Shape<number> = (value, path) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new ShapeError(path, 'a whole number')
  return value
}

export const flag: Shape<boolean> = (value, path) => {
  if (typeof value !== 'boolean') throw new ShapeError(path, 'true or false')
  return value
}

/** A text that is a point in time. */
export const moment: Shape<string> = (value, path) => {
  const iso = text(value, path)
  if (Number.isNaN(Date.parse(iso))) throw new ShapeError(path, 'a time')
  return iso
}

export function nullable<T>(inner: Shape<T>): Shape<T | null> {
  return (value, path) => (value === null ? null : inner(value, path))
}

export function optional<T>(inner: Shape<T>): Shape<T | undefined> {
  return (value, path) => (value === undefined ? undefined : inner(value, path))
}

export function list<T>(inner: Shape<T>): Shape<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new ShapeError(path, 'a list')
    return value.map((item, index) => inner(item, `${path}[${index}]`))
  }
}

export function oneOf<const T extends string | boolean>(...allowed: readonly T[]): Shape<T> {
  return (value, path) => {
    const found = allowed.find((candidate) => candidate === value)
    if (found === undefined) throw new ShapeError(path, `one of ${allowed.join(', ')}`)
    return found
  }
}

/** Takes only the named fields; other fields that the service sends are ignored. */
export function object<S extends Record<string, Shape<unknown>>>(
  fields: S,
): Shape<{ [K in keyof S]: ReturnType<S[K]> }> {
  return (value, path) => {
    if (!isRecord(value)) throw new ShapeError(path, 'an object')
    const checked = Object.entries(fields).map(([name, shape]) => [
      name,
      shape(value[name], `${path}.${name}`),
    ])
    // The cast is safe: its own shape has just checked every field.
    return Object.fromEntries(checked) as { [K in keyof S]: ReturnType<S[K]> }
  }
}

/**
 * An answer in the form of its contract (`src/http/api`), for pages that only show it as text. Only that it is an object
 * is checked; its fields are trusted to follow the contract. The fields a person signs are checked one by one instead.
 */
export function answer<T extends object>(): Shape<T> {
  return (value, path) => anyObject(value, path) as T
}

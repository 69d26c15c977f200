/** Checks that an untyped JSON value has the form the page relies on; `path` names the place in error messages. */
export type Shape<T> = (value: unknown, path: string) => T

/** The service answered with something this page does not understand; it then shows nothing rather than half of it. */
export class ShapeError extends Error {
  constructor(path: string, expected: string) {
    super(`${path} is not ${expected}`)
    this.name = 'ShapeError'
  }
}

/** Is it a JSON object (not null, not an array)? */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A JSON object, whatever is in it. */
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

/** Takes only the named fields; what else the service sends is not looked at. */
export function object<S extends Record<string, Shape<unknown>>>(
  fields: S,
): Shape<{ [K in keyof S]: ReturnType<S[K]> }> {
  return (value, path) => {
    if (!isRecord(value)) throw new ShapeError(path, 'an object')
    const checked = Object.entries(fields).map(([name, shape]) => [
      name,
      shape(value[name], `${path}.${name}`),
    ])
    // Every field was just checked by its own shape.
    return Object.fromEntries(checked) as { [K in keyof S]: ReturnType<S[K]> }
  }
}

/**
 * An answer in the form that its contract (`src/http/api`) gives, for pages that only show it, as text: that it is an object
 * is checked, the rest is the contract's. What a person signs is checked field by field.
 */
export function answer<T extends object>(): Shape<T> {
  return (value, path) => anyObject(value, path) as T
}

/** Any JSON value, as parsed. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }

/** Is it a JSON object (not null, not an array)? */
export function isJsonObject(value: JsonValue): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What people call the kind of a value. */
export function kindOf(value: JsonValue): string {
  if (value === null) return 'no value'
  if (Array.isArray(value)) return value.length === 1 ? 'list of 1' : `list of ${value.length}`
  if (typeof value === 'object') {
    const size = Object.keys(value).length
    return size === 1 ? '1 field' : `${size} fields`
  }
  return { string: 'text', number: 'number', boolean: 'boolean' }[
    typeof value as 'string' | 'number' | 'boolean'
  ]
}

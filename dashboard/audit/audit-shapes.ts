import {
  count,
  isRecord,
  list,
  moment,
  nullable,
  object,
  optional,
  type Shape,
  ShapeError,
  text,
} from '../../webauthn-page/kit/api/shape.ts'

/** Few, small facts about an entry. */
type Detail = Record<string, string | number | boolean>

const detail: Shape<Detail> = (value, path) => {
  if (!isRecord(value)) throw new ShapeError(path, 'an object')
  const known: Detail = {}
  for (const [name, fact] of Object.entries(value)) {
    if (typeof fact !== 'string' && typeof fact !== 'number' && typeof fact !== 'boolean')
      throw new ShapeError(`${path}.${name}`, 'a text, a number, true or false')
    known[name] = fact
  }
  return known
}

const fields = object({
  seq: count,
  id: text,
  type: text,
  at: moment,
  actor: object({ kind: text, id: optional(text), address: optional(text) }),
  subject: text,
  detail,
})

/** An entry with all that the service said about it, to be read raw. */
export type AuditEntry = ReturnType<typeof fields> & { raw: unknown }

const entry: Shape<AuditEntry> = (value, path) => ({ ...fields(value, path), raw: value })

const names: Shape<ReadonlyMap<string, string>> = (value, path) => {
  if (!isRecord(value)) throw new ShapeError(path, 'an object')
  return new Map(Object.entries(value).map(([id, name]) => [id, text(name, `${path}.${id}`)]))
}

/** `GET /account/audit`; `names` tells what people and keys of these entries are called now. */
export const auditPageShape = object({
  data: list(entry),
  next_cursor: nullable(text),
  names: optional(names),
})
export type AuditPage = ReturnType<typeof auditPageShape>

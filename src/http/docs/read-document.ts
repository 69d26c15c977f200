import type { oas31 } from 'zod-openapi'
import { METHODS } from '../api/shared/operation.ts'

export type OpenApi = oas31.OpenAPIObject
export type Media = oas31.MediaTypeObject
type Given = oas31.SchemaObject
/** A schema or a reference to one, without extension fields (`x-…`), which the page does not show. */
export type SchemaNode = { [Key in keyof Given as Key extends `x-${string}` ? never : Key]: Given[Key] }
export type Named<Part> = Part | oas31.ReferenceObject

/**
 * Puts each schema to which one place alone refers into that place, with its name as title, so that readers need not follow a
 * link. What a line lists beside others stays a link.
 */
export function inPlace(document: OpenApi): OpenApi {
  const schemas = document.components?.schemas ?? {}
  const places = countPlaces(document)
  const place = (_key: string, value: unknown): unknown => {
    if (!isReference(value) || places.get(value.$ref) !== 1) return value
    const { $ref, ...more } = value
    return { title: nameOfRef($ref), ...JSON.parse(JSON.stringify(schemas[nameOfRef($ref)]), place), ...more }
  }
  const placed: OpenApi = JSON.parse(JSON.stringify(document), place)
  for (const name of Object.keys(schemas))
    if (places.get(`${SCHEMAS}${name}`) === 1) delete placed.components?.schemas?.[name]
  return placed
}

const SCHEMAS = '#/components/schemas/'

/** Counts the places that refer to each schema; one whose line has no room for its fields counts as two. */
function countPlaces(node: unknown, weight = 1, places = new Map<string, number>()): Map<string, number> {
  if (node === null || typeof node !== 'object') return places
  if (isReference(node)) places.set(node.$ref, (places.get(node.$ref) ?? 0) + weight)
  for (const [key, part] of Object.entries(node))
    countPlaces(part, key === 'additionalProperties' || isChoice(key, part) ? 2 : weight, places)
  return places
}

/** Checks whether a member of a schema is a list of variants, of which more than one is not null. */
function isChoice(key: string, part: unknown): boolean {
  return key === 'anyOf' && Array.isArray(part) && part.filter(({ type }) => type !== 'null').length > 1
}

function isReference(node: unknown): node is { $ref: string } {
  if (node === null || typeof node !== 'object' || !('$ref' in node)) return false
  return typeof node.$ref === 'string' && node.$ref.startsWith(SCHEMAS)
}

export interface Section {
  id: string
  name: string
  description: string
  operations: Placed[]
}

/** The address of what the service itself calls. */
export const RECEIVER = 'your receiver'

export function sectionsOf({ paths = {}, webhooks = {}, tags = [] }: OpenApi): Section[] {
  const sent = Object.values(webhooks).map((item) => [RECEIVER, item] as const)
  const placed = [...Object.entries(paths), ...sent].flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return operation === undefined ? [] : [{ method, path, operation }]
    }),
  )
  return tags.map(({ name, description = '' }) => ({
    id: name.toLowerCase().replaceAll(' ', '-'),
    name,
    description,
    operations: placed.filter(({ operation }) => operation.tags?.includes(name)),
  }))
}

/** An operation with its method and path. */
export interface Placed {
  method: string
  path: string
  operation: oas31.OperationObject
}

/** Returns the schema inside a list or a nullable field. */
export function innerOf(schema: SchemaNode): SchemaNode {
  if (schema.items !== undefined) return innerOf(schema.items)
  const real = schema.anyOf?.filter((part: SchemaNode) => part.type !== 'null')
  return real?.length === 1 && real[0] !== undefined ? innerOf(real[0]) : schema
}

/** Returns the last part of a reference such as `#/components/schemas/Error`. */
export function nameOfRef(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

/** Returns the answer or parameter itself, following a reference. @throws TypeError for a reference that leads nowhere */
export function resolve<Part extends object>(
  known: Record<string, Named<Part>> | undefined,
  named: Named<Part>,
): Part {
  if (!('$ref' in named)) return named
  const found = known?.[nameOfRef(named.$ref)]
  if (found === undefined) throw new TypeError(`the document has no ${named.$ref}`)
  return resolve(known, found)
}

/** Returns the schema itself, following a reference. */
export function resolveSchema(openapi: OpenApi, schema: SchemaNode): SchemaNode {
  const name = schema.$ref === undefined ? undefined : nameOfRef(schema.$ref)
  return name === undefined ? schema : (openapi.components?.schemas?.[name] ?? schema)
}

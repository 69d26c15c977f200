import { z } from 'zod'

/** A JSON Schema, as far as the page shows it. */
export interface SchemaNode {
  $ref?: string | undefined
  type?: string | string[] | undefined
  description?: string | undefined
  properties?: Record<string, SchemaNode> | undefined
  required?: string[] | undefined
  items?: SchemaNode | undefined
  anyOf?: SchemaNode[] | undefined
  enum?: unknown[] | undefined
  const?: unknown
  default?: unknown
  example?: unknown
  format?: string | undefined
  pattern?: string | undefined
  minimum?: number | undefined
  maximum?: number | undefined
  minItems?: number | undefined
  maxItems?: number | undefined
  maxLength?: number | undefined
}

const schemaNode: z.ZodType<SchemaNode> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    description: z.string().optional(),
    properties: z.record(z.string(), schemaNode).optional(),
    required: z.array(z.string()).optional(),
    items: schemaNode.optional(),
    anyOf: z.array(schemaNode).optional(),
    enum: z.array(z.unknown()).optional(),
    const: z.unknown().optional(),
    default: z.unknown().optional(),
    example: z.unknown().optional(),
    format: z.string().optional(),
    pattern: z.string().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    maxLength: z.number().optional(),
  }),
)

const media = z.object({
  schema: schemaNode.optional(),
  example: z.unknown().optional(),
  examples: z.record(z.string(), z.object({ value: z.unknown() })).optional(),
})
const content = z.record(z.string(), media)
const reference = z.object({ $ref: z.string() })

const header = z.object({ description: z.string().optional() })

const response = z.object({
  description: z.string(),
  headers: z.record(z.string(), z.union([reference, header])).optional(),
  content: content.optional(),
})

const parameter = z.object({
  in: z.string(),
  name: z.string(),
  required: z.boolean().optional(),
  schema: schemaNode,
})

const operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()).min(1),
  summary: z.string(),
  description: z.string().optional(),
  /** Missing on what the service itself sends. */
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  parameters: z.array(z.union([reference, parameter])).optional(),
  requestBody: z.object({ required: z.boolean().optional(), content }).optional(),
  responses: z.record(z.string(), z.union([reference, response])),
})

const document = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  webhooks: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    schemas: z.record(z.string(), schemaNode),
    headers: z.record(z.string(), header),
    parameters: z.record(z.string(), parameter),
    responses: z.record(z.string(), response),
    securitySchemes: z.record(z.string(), z.object({ description: z.string() })),
  }),
})

export type OpenApi = z.output<typeof document>
export type Operation = z.output<typeof operation>
export type Parameter = z.output<typeof parameter>
export type Answer = z.output<typeof response>
export type Media = z.output<typeof media>

/** Reads our own document as far as the page shows it. @throws ZodError when it is none */
export function readDocument(json: unknown): OpenApi {
  return document.parse(json)
}

/** The last part of a reference such as `#/components/schemas/Error`. */
export function nameOfRef(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

/** The answer itself, where the operation only names it. */
export function resolveAnswer(openapi: OpenApi, answer: Operation['responses'][string]): Answer {
  if (!('$ref' in answer)) return answer
  const found = openapi.components.responses[nameOfRef(answer.$ref)]
  if (found === undefined) throw new TypeError(`the document has no ${answer.$ref}`)
  return found
}

/** The parameter itself, where the operation only names it. */
export function resolveParameter(
  openapi: OpenApi,
  named: NonNullable<Operation['parameters']>[number],
): Parameter {
  if (!('$ref' in named)) return named
  const found = openapi.components.parameters[nameOfRef(named.$ref)]
  if (found === undefined) throw new TypeError(`the document has no ${named.$ref}`)
  return found
}

/** The schema itself, where only its name is given. */
export function resolveSchema(openapi: OpenApi, schema: SchemaNode): SchemaNode {
  const name = schema.$ref === undefined ? undefined : nameOfRef(schema.$ref)
  return name === undefined ? schema : (openapi.components.schemas[name] ?? schema)
}

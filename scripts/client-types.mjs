// Turns openapi.json into the types of packages/client: one interface of schemas, one of operations. `npm run openapi` writes them.

/** Text of `packages/client/src/rest.ts`. */
export function clientTypes({ components, paths }) {
  const schemas = Object.entries(components.schemas).map(([name, schema]) => entry(name, true, schema))
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .map(([method, { parameters = [], ...operation }]) =>
        describeOperation(`${method.toUpperCase()} ${path}`, {
          ...operation,
          parameters: parameters.map((one) => components.parameters[one.$ref?.split('/').at(-1)] ?? one),
        }),
      )
      .filter((text) => text !== undefined),
  )
  return `// Generated from openapi.json by \`npm run openapi\`.

/** What the service takes and answers, by its name in openapi.json. */
export interface Schemas {
${schemas.join('\n')}
}

/** What each call takes and answers. Calls that answer with something else than JSON are left out. */
export interface Operations {
${operations.join('\n')}
}
`
}

function describeOperation(name, { summary, parameters, requestBody, responses }) {
  const answers = Object.entries(responses).filter(([status]) => /^2/.test(status))
  const types = answers.map(([, { content }]) =>
    content === undefined ? 'undefined' : typeOf(content['application/json']?.schema),
  )
  if (types.includes(undefined)) return undefined
  const body = requestBody?.content['application/json']?.schema
  const parts = [
    part('path', parameters),
    part('query', parameters),
    requestBody === undefined ? undefined : `body${requestBody.required ? '' : '?'}: ${typeOf(body)}`,
  ]
  const input = `{ ${parts.filter((text) => text !== undefined).join('; ')} }`
  return `  /** ${summary} */ ${JSON.stringify(name)}: { input: ${input}; answer: ${union(types)} }`
}

function part(place, parameters) {
  const inside = parameters.filter((parameter) => parameter.in === place)
  if (inside.length === 0) return undefined
  const fields = inside.map(({ name, schema, required }) => field(name, required === true, schema))
  const required = inside.some((parameter) => parameter.required === true)
  return `${place}${required ? '' : '?'}: { ${fields.join('; ')} }`
}

function entry(name, required, schema) {
  const words =
    schema.description === undefined ? '' : `  /** ${schema.description.replaceAll('*/', '* /')} */\n`
  return `${words}  ${field(name, required, schema)}`
}

function field(name, required, schema) {
  return `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${required ? '' : '?'}: ${typeOf(schema)}`
}

function typeOf(schema) {
  if (schema === undefined) return undefined
  if (schema.$ref !== undefined) return `Schemas[${JSON.stringify(schema.$ref.replace(/^.*\//, ''))}]`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)))
  if (schema.anyOf !== undefined) return union(schema.anyOf.map(typeOf))
  if (schema.allOf !== undefined) return schema.allOf.map((one) => `(${typeOf(one)})`).join(' & ')
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type })))
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `readonly (${typeOf(schema.items ?? {})})[]`
    case 'object':
      return objectType(schema)
    case undefined:
      return 'unknown'
    default:
      throw new Error(`no type for ${JSON.stringify(schema)}`)
  }
}

function objectType({ properties, required = [], additionalProperties }) {
  if (properties === undefined)
    return `{ readonly [name: string]: ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'} }`
  const fields = Object.entries(properties).map(([name, schema]) =>
    field(name, required.includes(name), schema),
  )
  return `{ ${fields.join('; ')} }`
}

function union(types) {
  return [...new Set(types)].join(' | ')
}

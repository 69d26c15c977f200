import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { composeHttp } from '../../../src/compose/compose-http.ts'
import { readConfig } from '../../../src/config/config.ts'
import { packagePath } from '../../../src/config/package-path.ts'
import { REFUSALS } from '../../../src/domain/errors.ts'
import { WEBHOOKS } from '../../../src/http/api/events.ts'
import { buildOpenApi } from '../../../src/http/openapi.ts'
import { PATHS } from '../../../src/http/operations.ts'
import { answerSchema, committedDocument, documentedOperations } from '../../support/documented.ts'
import { TEST_SECRETS, useService } from '../../support/service.ts'

const version = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(packagePath('package.json'), 'utf8'))).version

/** Routes that people open or browsers fetch; they are no part of the interface. */
const PAGES = [
  '/docs',
  '/assets/:name',
  '/icons/:name',
  '/a/:id',
  '/b/:id',
  '/manifest.webmanifest',
  '/sw.js',
  '/account',
  '/audit',
  '/overview',
  '/integrations',
  '/integrations/webhooks/:id',
  '/keys',
  '/members',
  '/requests',
  '/requests/:id',
  '/settings',
  '/verify',
  '/enroll',
  '/link',
  '/setup',
  '/signin',
]

describe('the OpenAPI document', () => {
  it('is committed as the schemas say it', () => {
    const built: unknown = JSON.parse(JSON.stringify(buildOpenApi(version)))
    expect(committedDocument()).toEqual(built)
  })

  it('is small enough to be read and compared: 3 kB an operation', () => {
    const most = 3_000 * documentedOperations().length
    expect(statSync(packagePath('openapi.json')).size).toBeLessThanOrEqual(most)
  })

  it('is served, to be asked for again each time', async () => {
    const service = await useService()
    const response = await fetch(`${service.url}/openapi.json`)
    expect(response.status).toBe(200)
    expect(response.headers.get('Content-Type')).toMatch(/^application\/json/)
    expect(response.headers.get('Cache-Control')).toBe('no-cache')
    expect(response.headers.get('Content-Encoding')).toBe('gzip')
    expect(await response.json()).toEqual(committedDocument())
  })

  it('describes every route of the service and no other', async () => {
    const service = await useService()
    const config = readConfig({ BASE_URL: service.url, ...TEST_SECRETS })
    const app = composeHttp(config, service.composition)
    // Pages come last, and each once: a part of the API may end like one of them (`/account/requests`, `/requests`).
    // The Model Context Protocol describes itself, to its clients.
    const pages = new Set([...PAGES, '/mcp'])
    const served = routesOf(app)
      .toReversed()
      .filter(({ path }) => !pages.delete(path) && !/^\/docs\/.+\.(css|js)$/.test(path))
    const described = documentedOperations().map(({ method, path }) => `${method} ${path}`)
    // Mounted routers know only the end of their paths: each must end exactly one described path, longest first.
    const left = new Set(described)
    const ends = served.map(
      ({ method, path }) => `${method} ${path === '/' ? '' : path.replaceAll(/[:*](\w+)/g, '{$1}')}`,
    )
    const unmatched = ends
      .sort((a, b) => b.length - a.length)
      .filter((route) => {
        const [method, end = ''] = route.split(' ')
        const match = [...left].find((known) => known.startsWith(`${method} `) && known.endsWith(end))
        if (match !== undefined) left.delete(match)
        return match === undefined
      })
    // What is left over is the bare address, where the dashboard begins.
    expect({ unmatched, left: [...left] }).toEqual({ unmatched: ['get '], left: [] })
  })

  it('has handlers with names of their own, as stack traces and profilers show them', async () => {
    const service = await useService()
    const config = readConfig({ BASE_URL: service.url, ...TEST_SECRETS })
    const handlers = handlersOf(composeHttp(config, service.composition))
    expect(handlers.filter(({ name }) => name === '').map(String)).toEqual([])
    // Each endpoint is bound once; other handlers are made anew for each router.
    const bound = (handler: (typeof handlers)[number]) => String(handler).includes('endpoint(deps')
    const names = [
      ...handlers.filter(bound).map(({ name }) => name),
      ...new Map(handlers.filter((one) => !bound(one)).map((one) => [String(one), one.name])).values(),
    ]
    expect(names.length).toBeGreaterThan(100)
    expect(names.filter((name, at) => names.indexOf(name) < at)).toEqual([])
  })

  it('has unique operation ids and only references that lead somewhere', () => {
    const document = committedDocument()
    const text = JSON.stringify(document)
    const ids = [...text.matchAll(/"operationId":"([^"]+)"/g)].map((match) => match[1])
    expect(new Set(ids).size).toBe(ids.length)
    // Who may call stands at each, webhooks included: linters ask for it.
    expect(text.match(/"security":\[/g)).toHaveLength(ids.length)
    const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) => match[1] ?? '')
    expect(references.length).toBeGreaterThan(100)
    expect(references.filter((path) => follow(document, path.split('/')) === undefined)).toEqual([])
  })

  it('gives only examples that its schemas accept', () => {
    let checked = 0
    for (const [path, item] of Object.entries({ ...PATHS, ...WEBHOOKS })) {
      for (const { schema, examples } of mediaOf(item)) {
        for (const [name, value] of examples) {
          expect(schema.safeParse(value).error?.issues ?? [], `${path} ${name}`).toEqual([])
          checked += 1
        }
      }
    }
    expect(checked).toBeGreaterThan(100)
  })

  it('lists for every refusal exactly its codes, each with the sentence that the service sends', () => {
    const document = committedDocument()
    const text = JSON.stringify(document)
    const listed = refusalsIn(document)
    expect(listed.length).toBeGreaterThan(50)
    for (const { codes, examples } of listed)
      expect(examples.map((name) => codeOfExample(document, name))).toEqual(codes)
    const limited = follow(document, ['components', 'examples', 'remind_rate_limited', 'value'])
    expect(limited).toEqual({
      error: 'remind_rate_limited',
      message: 'One reminder per request and minute; wait 42 seconds.',
      retry_after: 42,
    })
    expect(answerSchema('post', '/api/v1/approvals/{id}/remind', 429).safeParse(limited).success).toBe(true)
    const other = { ...Object(limited), error: 'slow_down' }
    expect(answerSchema('post', '/api/v1/approvals/{id}/remind', 429).safeParse(other).success).toBe(false)
    expect(follow(document, ['components', 'schemas', 'ErrorCode', 'enum'])).toEqual(Object.keys(REFUSALS))
    // What chat platforms are answered is no operation of this document, and the last three any operation may give.
    const elsewhere = /^(chat_|install_|unavailable$|storage_unavailable$|internal_error$)/
    const codes = Object.keys(REFUSALS).filter((code) => !elsewhere.test(code))
    expect(codes.filter((code) => !text.includes(`"${code}"`))).toEqual([])
  })

  it('is checked by the script, which fails when the committed file differs', () => {
    const root = mkdtempSync(join(tmpdir(), 'countersign-openapi-'))
    onTestFinished(() => rmSync(root, { recursive: true, force: true }))
    const types = 'packages/client/src/rest.ts'
    for (const name of [
      'package.json',
      'scripts/openapi.mjs',
      'scripts/client-types.mjs',
      'openapi.json',
      types,
    ])
      cpSync(packagePath(name), join(root, name))
    symlinkSync(packagePath('dist'), join(root, 'dist'))
    const check = () =>
      spawnSync(process.execPath, ['scripts/openapi.mjs', '--check'], { cwd: root, encoding: 'utf8' })
    expect(check().status).toBe(0)
    writeFileSync(join(root, 'openapi.json'), '{}\n')
    const failed = check()
    expect(failed.status).toBe(1)
    expect(failed.stderr).toContain('openapi.json is not what the schemas say')
    cpSync(packagePath('openapi.json'), join(root, 'openapi.json'))
    writeFileSync(join(root, types), '')
    expect(check().stderr).toContain(`${types} is not what the schemas say`)
  })
})

/** Every refusal of the document: the codes of its schema, and the names of its examples. */
function refusalsIn(document: unknown): { codes: unknown; examples: string[] }[] {
  const found: { codes: unknown; examples: string[] }[] = []
  const visit = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return
    const codes = follow(value, ['schema', 'allOf', '1', 'properties', 'error', 'enum'])
    const single = follow(value, ['schema', 'allOf', '1', 'properties', 'error', 'const'])
    if (codes !== undefined || single !== undefined)
      found.push({ codes: codes ?? [single], examples: Object.keys(Object(follow(value, ['examples']))) })
    for (const inner of Object.values(value)) visit(inner)
  }
  visit(document)
  return found
}

function codeOfExample(document: unknown, name: string): unknown {
  return follow(document, ['components', 'examples', name, 'value', 'error'])
}

/** Every route of an Express app with the path its own router knows. */
function routesOf(app: object): { method: string; path: string }[] {
  return layersOf(Reflect.get(app, 'router')).flatMap((layer) => {
    const route = part(layer, 'route')
    const inner = part(layer, 'handle')
    if (route === undefined) return inner === undefined ? [] : routesOf({ router: inner })
    const methods = new Set(layersOf(route).map((step) => String(Reflect.get(step, 'method'))))
    const paths = [Reflect.get(route, 'path')].flat().map(String)
    return paths.flatMap((path) => [...methods].map((method) => ({ method, path })))
  })
}

/** Every function that a request may pass in an Express app. */
function handlersOf(app: object): { name: string }[] {
  return layersOf(Reflect.get(app, 'router')).flatMap((layer) => {
    const inner = part(layer, 'route') ?? part(layer, 'handle')
    return layersOf(inner).length > 0
      ? handlersOf({ router: inner })
      : typeof inner === 'function'
        ? [inner]
        : []
  })
}

function layersOf(router: unknown): object[] {
  const stack: unknown = router === null || router === undefined ? [] : Reflect.get(Object(router), 'stack')
  return Array.isArray(stack) ? stack : []
}

function part(layer: object, name: string): object | undefined {
  const value: unknown = Reflect.get(layer, name)
  return (typeof value === 'object' || typeof value === 'function') && value !== null ? value : undefined
}

function mediaOf(item: object): { schema: z.ZodType; examples: [string, unknown][] }[] {
  const found: { schema: z.ZodType; examples: [string, unknown][] }[] = []
  const visit = (value: unknown): void => {
    if (value === null || typeof value !== 'object' || value instanceof z.ZodType) return
    if ('schema' in value && value.schema instanceof z.ZodType) {
      const single = 'example' in value ? [['example', value.example] satisfies [string, unknown]] : []
      const several = 'examples' in value ? Object.entries(value.examples ?? {}) : []
      const named = several.map(
        ([name, example]) => [name, Object(example).value] satisfies [string, unknown],
      )
      found.push({ schema: value.schema, examples: [...single, ...named] })
    }
    for (const inner of Object.values(value)) visit(inner)
  }
  visit(item)
  return found
}

function follow(root: unknown, steps: string[]): unknown {
  return steps.reduce<unknown>(
    (value, step) => (value !== null && typeof value === 'object' ? Reflect.get(value, step) : undefined),
    root,
  )
}

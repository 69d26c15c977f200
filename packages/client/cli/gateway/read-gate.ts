import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { Invalid } from '../../src/errors.ts'
import { copyJson, type Json, type JsonObject } from '../../src/json.ts'
import { type Condition, compared, inside, matched, oneOf, present, type Test } from './conditions.ts'
import { EFFECTS, type Rule, shadowOf } from './rules.ts'

/** The configuration of a gateway. */
export interface Gate {
  /** The server's name, as people see it. */
  server: string
  /** What holds for a tool without a rule. */
  unlisted: 'approve' | 'deny'
  rules: readonly Rule[]
  /** Variables of the server's process, headers for a server's address, with their secrets filled in. */
  env: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  /** Methods beyond the protocol's own that pass. */
  methods: readonly string[]
  ttlSeconds: number
  useWithinSeconds: number
  /** How long a call is held while nobody has decided: without and with a client that hears of its progress. */
  holdSeconds: number
  holdWithProgressSeconds: number
}

/** Reads a configuration, in YAML 1.2 or JSON. @throws Invalid, which names the file and the place in it */
export function readGate(path: string): Gate {
  const document = parseDocument(readFileSync(path, 'utf8'), { prettyErrors: true })
  const [problem] = [...document.errors, ...document.warnings]
  try {
    // Only the first line: the others repeat the text of the file, which may hold a secret.
    if (problem) throw new Invalid(problem.message.replace(/:?\n.*/s, '.'))
    return gateOf(copyJson(document.toJS({ maxAliasCount: 100 }) ?? null, 'the file'), dirname(path))
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw new Invalid(`${path}: ${words.replace(/^Not done: /, '')}`)
  }
}

function gateOf(value: Json, base: string): Gate {
  const found = fields(value, '', {
    server: line,
    unlisted: choice(['approve', 'deny']),
    rules: list(rule),
    env: entries(secret(base)),
    headers: entries(secret(base)),
    methods: list(line),
    ttl_seconds: seconds(60, 604_800),
    use_within_seconds: seconds(1, 604_800),
    hold_seconds: seconds(1, 86_400),
    hold_with_progress_seconds: seconds(1, 86_400),
  })
  const rules = found.rules ?? []
  for (const [index, one] of rules.entries()) {
    const before = shadowOf(one, rules.slice(0, index))
    if (before) fail(one.at, `can never match: ${before.at} comes first, and is about the same calls`)
  }
  return {
    server: required(found.server, 'server'),
    unlisted: found.unlisted ?? 'approve',
    rules,
    env: found.env ?? {},
    headers: found.headers ?? {},
    methods: found.methods ?? [],
    ttlSeconds: found.ttl_seconds ?? 3600,
    useWithinSeconds: found.use_within_seconds ?? 3600,
    holdSeconds: found.hold_seconds ?? 50,
    holdWithProgressSeconds: found.hold_with_progress_seconds ?? 600,
  }
}

function rule(value: Json, at: string): Rule {
  const { tool, effect, when, title, reason } = fields(value, at, {
    tool: (names, at) => (Array.isArray(names) ? list(line)(names, at) : [line(names, at)]),
    effect: choice(EFFECTS),
    when: conditions,
    title: line,
    reason: line,
  })
  if (title !== undefined && effect === 'deny') fail(`${at}.title`, 'has no use: nobody is asked')
  if (reason !== undefined && effect !== 'deny') fail(`${at}.reason`, 'is only for rules that deny')
  const written: Json = Object(value).when ?? {}
  const given = { at, written, when: when ?? [], title, reason }
  return { ...given, tools: required(tool, `${at}.tool`), effect: required(effect, `${at}.effect`) }
}

function conditions(value: Json, at: string): Condition[] {
  const found = Object.entries(object(value, at))
  if (found.length === 0) fail(at, 'must name at least one argument; leave it out for any arguments')
  return found.map(([path, tests]) => {
    if (path.split('/').includes('')) fail(at, `names the path ${JSON.stringify(path)}; write it like a/b`)
    return { path, tests: testsOf(tests, `${at}.${path}`) }
  })
}

/** The words of a condition. Each is about one kind of value. */
const WORDS = {
  equals: (value: Json) => oneOf([value]),
  in: (value: Json, at: string) => oneOf(list((item) => item)(value, at)),
  above: bound((value, limit) => value > limit),
  at_least: bound((value, limit) => value >= limit),
  below: bound((value, limit) => value < limit),
  at_most: bound((value, limit) => value <= limit),
  matches: (value: Json, at: string) => matched(pattern(value, at)),
  inside: (value: Json, at: string) =>
    inside(Array.isArray(value) ? list(folder)(value, at) : [folder(value, at)]),
  present: (value: Json, at: string) =>
    present(typeof value === 'boolean' ? value : fail(at, 'must be true or false')),
}

function testsOf(value: Json, at: string): Test[] {
  const found = fields(value, at, WORDS)
  const tests = Object.values(found).filter((test) => test !== undefined)
  if (tests.length === 0) fail(at, `must hold one of: ${Object.keys(WORDS).join(', ')}`)
  const { above, at_least, below, at_most } = object(value, at)
  const low = Math.max(numberOr(above, -Infinity), numberOr(at_least, -Infinity))
  const high = Math.min(numberOr(below, Infinity), numberOr(at_most, Infinity))
  if (low > high || (low === high && (above === low || below === high)))
    fail(at, 'can never match: no number is in this range')
  return tests
}

function numberOr(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

type Read<T> = (value: Json, at: string) => T

function bound(holds: (value: number, limit: number) => boolean): Read<Test> {
  return (limit, at) =>
    typeof limit === 'number' ? compared((value) => holds(value, limit)) : fail(at, 'must be a number')
}

function pattern(value: Json, at: string): RegExp {
  try {
    return new RegExp(`^(?:${line(value, at)})$`, 'u')
  } catch {
    return fail(at, 'is no regular expression')
  }
}

function folder(value: Json, at: string): string {
  const path = line(value, at)
  return isAbsolute(path) ? path : fail(at, 'must be an absolute path')
}

/** Puts in what `${NAME}` and `${file:path}` stand for. The values are never repeated in an error. */
function secret(base: string): Read<string> {
  return (value, at) => {
    const filled = line(value, at).replace(/\$\{([^}]*)\}/g, (_, name: string) => {
      const [, path] = /^file:(.+)$/.exec(name) ?? []
      if (path === undefined)
        return process.env[name] ?? fail(at, `names the variable ${name}, which is not set`)
      try {
        return readFileSync(resolve(base, path), 'utf8').trimEnd()
      } catch {
        return fail(at, `names the file ${path}, which cannot be read`)
      }
    })
    return /[\r\n\0]/.test(filled) ? fail(at, 'must be one line') : filled
  }
}

function line(value: Json, at: string): string {
  const isLine = typeof value === 'string' && value !== '' && !/\p{Cc}/u.test(value) && value.length <= 2000
  return isLine ? value : fail(at, 'must be a text of one line; put it into quotes if it is a number')
}

function seconds(least: number, most: number): Read<number> {
  return (value, at) =>
    typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
      ? value
      : fail(at, `must be a whole number from ${least} to ${most}`)
}

function choice<const T extends string>(words: readonly T[]): Read<T> {
  return (value, at) =>
    words.find((word) => word === value) ?? fail(at, `must be one of: ${words.join(', ')}`)
}

function list<T>(read: Read<T>): Read<T[]> {
  return (value, at) => {
    if (!Array.isArray(value) || value.length === 0) return fail(at, 'must be a list, and not empty')
    return value.map((item: Json, index) => read(item, `${at}[${index}]`))
  }
}

function entries<T>(read: Read<T>): Read<Record<string, T>> {
  return (value, at) =>
    Object.fromEntries(
      Object.entries(object(value, at)).map(([name, item]) => [name, read(item, `${at}.${name}`)]),
    )
}

function object(value: Json, at: string): JsonObject {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return fail(at || 'the file', 'must be a mapping of names to values')
  return Object(value)
}

/** Reads the fields of an object. @throws Invalid for one that is not known: a misspelt one would open what it should close */
function fields<T extends Record<string, Read<unknown>>>(
  value: Json,
  at: string,
  known: T,
): { [Name in keyof T]?: ReturnType<T[Name]> } {
  const found: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(object(value, at))) {
    const place = at ? `${at}.${name}` : name
    const read = Object.hasOwn(known, name) ? known[name] : undefined
    if (read === undefined) fail(place, `is not known; known are: ${Object.keys(known).join(', ')}`)
    else found[name] = read(item, place)
  }
  return found as { [Name in keyof T]?: ReturnType<T[Name]> }
}

function required<T>(value: T | undefined, at: string): T {
  return value ?? fail(at, 'is missing')
}

function fail(at: string, problem: string): never {
  throw new Invalid(`${at} ${problem}.`)
}

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packagePath } from '../../src/config/package-path.ts'

const words = z.array(z.string())
const healthcheckSchema = z.object({
  test: words,
  interval: z.string(),
  timeout: z.string(),
  retries: z.number(),
})

/** What the tests look at; the rest is judged by the published schema. */
const serviceSchema = z.object({
  image: z.string().optional(),
  build: z.string().optional(),
  command: words.optional(),
  entrypoint: words.optional(),
  environment: z.record(z.string(), z.string()).optional(),
  ports: words.optional(),
  volumes: words.optional(),
  networks: words.optional(),
  network_mode: z.string().optional(),
  deploy: z.object({ replicas: z.number() }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  healthcheck: healthcheckSchema.optional(),
  stop_grace_period: z.string().optional(),
  cap_drop: words.optional(),
  cap_add: words.optional(),
  read_only: z.boolean().optional(),
  security_opt: words.optional(),
  restart: z.string().optional(),
  logging: z.object({ driver: z.string() }).optional(),
  ulimits: z.object({ nofile: z.object({ soft: z.number(), hard: z.number() }) }).optional(),
})
const fileSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() }).nullable()).optional(),
  volumes: z.record(z.string(), z.null()).optional(),
})

export type ComposeFile = z.infer<typeof fileSchema>
export type ComposeService = z.infer<typeof serviceSchema>

/** The values of .env, by name. */
export type DotEnv = Readonly<Record<string, string>>

/** The text of a compose file as data, merge keys resolved, variables as they stand. */
export function composeData(path: string): unknown {
  return parse(readFileSync(packagePath(path), 'utf8'), { merge: true })
}

/** A compose file with the variables of `.env` filled in. @throws as Compose does when a required one is missing */
export function readComposeFile(path: string, dotEnv: DotEnv): ComposeFile {
  return fileSchema.parse(fill(composeData(path), dotEnv))
}

/** `NAME=value` lines. */
export function parseDotEnv(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}

/** `${NAME}`, `${NAME:-default}` and `${NAME:?message}`; `$$` is a dollar sign. */
function fill(value: unknown, dotEnv: DotEnv): unknown {
  if (typeof value === 'string') return fillText(value, dotEnv)
  if (Array.isArray(value)) return value.map((item) => fill(item, dotEnv))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, dotEnv)]))
}

function fillText(text: string, dotEnv: DotEnv): string {
  return text.replace(
    /\$(?:\$|\{(\w+)(?::([-?])([^}]*))?\})/g,
    (all, name?: string, kind?: string, rest = '') => {
      if (all === '$$' || name === undefined) return '$'
      const value = dotEnv[name] ?? ''
      if (value !== '') return value
      if (kind === '?') throw new Error(`required variable ${name} is missing a value: ${rest}`)
      return rest
    },
  )
}

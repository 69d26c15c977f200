import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Invalid } from '../../src/errors.ts'
import { canonical, copyJson, type Json, type JsonObject } from '../../src/json.ts'
import { writeWhole } from '../credentials.ts'

/** A tool as its server describes it, which is what a model acts upon. */
export interface Tool {
  name: string
  definition: JsonObject
  /** SHA-256 of the definition's canonical form, in hex. */
  sha256: string
}

/** What the lock file says about a tool. */
export type Pin = 'pinned' | 'changed' | 'not pinned'

/** Reads a tool of a `tools/list`; undefined for what is none. `_meta` and icons are for hosts, and may differ each time. */
export function toolOf(value: unknown): Tool | undefined {
  const { _meta, icons, ...rest }: Record<string, unknown> = Object(value)
  const { name } = rest
  if (typeof name !== 'string') return undefined
  const definition = Object(copyJson(rest, `the tool ${name}`))
  return { name, definition, sha256: createHash('sha256').update(canonical(definition)).digest('hex') }
}

const FORMAT = 'countersign.gateway-lock/v1'

/** Where the pins of a configuration are: beside it. */
export function lockPath(config: string): string {
  return `${config.replace(/\.(ya?ml|json)$/, '')}.lock.json`
}

/** Reads the pinned tools: none without a file. @throws Invalid for a file of another kind */
export function readPins(path: string): Map<string, Tool> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (Object(error).code === 'ENOENT') return new Map()
    throw error
  }
  try {
    const { format, tools }: Record<string, unknown> = Object(JSON.parse(text))
    const read = Array.isArray(tools) ? tools.map(toolOf) : [undefined]
    if (format === FORMAT && read.every((tool) => tool !== undefined))
      return new Map(read.map((tool) => [tool.name, tool]))
  } catch {
    // Said below.
  }
  throw new Invalid(`${path} holds no pins. Make it anew: countersign gateway --pin`)
}

/** Writes the definitions in full: the next change of one can be read in a diff of this file. */
export function writePins(path: string, tools: readonly Tool[]): void {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
  const file: Json = { format: FORMAT, tools: sorted.map(({ definition }) => definition) }
  writeWhole(path, `${JSON.stringify(file, null, 2)}\n`)
}

export function pinOf(pins: ReadonlyMap<string, Tool>, tool: Tool | undefined): Pin {
  const pinned = tool && pins.get(tool.name)
  if (pinned === undefined) return 'not pinned'
  return pinned.sha256 === tool?.sha256 ? 'pinned' : 'changed'
}

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Invalid } from '../../src/errors.ts'
import { canonical, copyJson, type Json, type JsonObject } from '../../src/json.ts'
import { writeWhole } from '../credentials.ts'
import { visibleLine } from '../shown-arguments.ts'

/** A tool as its server describes it, which is what a model acts upon. */
export interface Tool {
  name: string
  definition: JsonObject
  /** SHA-256 of the definition's canonical form, in hex; empty, and so like no pin, if JSON cannot hold the definition. */
  sha256: string
}

/** What the lock file says about a tool. */
export type Pin = 'pinned' | 'changed' | 'not pinned'

/** Reads a tool of a `tools/list`; undefined for what is none. `_meta` and icons are for hosts, and may differ each time. */
export function toolOf(value: unknown): Tool | undefined {
  const { _meta, icons, ...rest }: Record<string, unknown> = Object(value)
  const { name } = rest
  if (typeof name !== 'string') return undefined
  try {
    const definition = Object(copyJson(rest, `the tool ${name}`))
    return { name, definition, sha256: sha256(canonical(definition)) }
  } catch {
    return { name, definition: { name, description: String(rest.description ?? '') }, sha256: '' }
  }
}

/**
 * One tool for all that is said under its name. What is said in two ways is like no pin: nobody knows which one the model reads.
 * So is what the list has twice, even in the same words: nobody knows which one runs.
 * @param own what the server's list has
 * @param told what the client was told besides
 */
export function mergeTools(own: readonly Tool[], told: readonly Tool[] = []): Tool | undefined {
  const [first, ...others] = new Map([...told, ...own].map((tool) => [tool.sha256, tool])).values()
  if (first === undefined || (others.length === 0 && own.length < 2)) return first
  const tools = [first, ...others]
  const description = tools.map(({ definition }) => String(definition.description ?? '')).join('\n\n')
  const { name } = first
  return { name, definition: { name, description }, sha256: sha256(tools.map((tool) => tool.sha256).join()) }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function twiceIn(tools: readonly Tool[]): string | undefined {
  return tools.find(({ name }, index) => tools.findIndex((one) => one.name === name) !== index)?.name
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
    if (format === FORMAT && read.every((tool) => tool !== undefined) && twiceIn(read) === undefined)
      return new Map(read.map((tool) => [tool.name, tool]))
  } catch {
    // Said below.
  }
  throw new Invalid(`${path} holds no pins. Make it anew: countersign gateway --pin`)
}

/**
 * Writes the definitions in full: the next change of one can be read in a diff of this file.
 * @throws Invalid for a name that is there twice, or a definition that JSON cannot hold
 */
export function writePins(path: string, tools: readonly Tool[]): void {
  const twice = twiceIn(tools)
  if (twice !== undefined)
    throw new Invalid(`the MCP server lists "${visibleLine(twice)}" twice. Nothing was pinned.`)
  const odd = tools.find((tool) => tool.sha256 === '')
  if (odd) throw new Invalid(`JSON cannot hold the tool "${visibleLine(odd.name)}". Nothing was pinned.`)
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1))
  const file: Json = { format: FORMAT, tools: sorted.map(({ definition }) => definition) }
  writeWhole(path, `${JSON.stringify(file, null, 2)}\n`)
}

export function pinOf(pins: ReadonlyMap<string, Tool>, tool: Tool | undefined): Pin {
  const pinned = tool && pins.get(tool.name)
  if (pinned === undefined) return 'not pinned'
  return pinned.sha256 === tool?.sha256 ? 'pinned' : 'changed'
}

import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../src/json.ts'
import type { Message } from '../mcp-message.ts'
import { mergeTools, type Tool, toolOf } from './pins.ts'

/** How long the server may take for its list, and how long a list counts, in ms. */
const ANSWER_MS = 15_000
const FRESH_MS = 60_000
const MOST_PAGES = 100

/** The tools as the server describes them now. */
export interface ToolList {
  /** As the server describes it to the gateway, and to the client too: it can tell their questions apart. */
  get(name: string): Tool | undefined
  all(): Tool[]
  /** Reads the list unless it was read a moment ago. @param meta what a request has to say about its client */
  ready(meta: JsonObject): Promise<void>
  /** Reads the list. A server that gives none has no tools that are known. */
  refresh(meta: JsonObject): Promise<void>
  /** Another list may hold from now on. */
  expire(): void
  /** Notes what a page says to the client. @param isFirst a list begins with it */
  note(result: unknown, isFirst: boolean): void
  /** Whether a message answers a question of the list itself: then it is not for the client. */
  isAnswer(message: Message): boolean
  failed(id: string | number): boolean
  /** The server is gone. */
  stop(): void
}

/** @param send sends a request to the server */
export function createToolList(send: (message: Message) => void): ToolList {
  const asked = new Map<unknown, (result: unknown) => void>()
  let tools: Tool[] = []
  /** What the client was told under each name, by the last of its lists that had the name. */
  const shown = new Map<string, { list: number; tools: Tool[] }>()
  let lists = 0
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  const answerTo = (params: JsonObject): Promise<unknown> =>
    new Promise((resolve) => {
      const id = `countersign-${randomUUID()}`
      const over = setTimeout(() => asked.get(id)?.(undefined), ANSWER_MS)
      asked.set(id, (result) => {
        clearTimeout(over)
        asked.delete(id)
        resolve(result)
      })
      send({ jsonrpc: '2.0', id, method: 'tools/list', params } as Message)
    })

  const read = async (meta: JsonObject): Promise<void> => {
    readAt = performance.now()
    tools = await readPages(answerTo, Object.keys(meta).length > 0 ? { _meta: meta } : {})
  }

  const list: ToolList = {
    get(name) {
      const own = tools.filter((tool) => tool.name === name)
      return own.length === 0 ? undefined : mergeTools(own, shown.get(name)?.tools)
    },
    all: () => tools,
    ready: async (meta) => {
      if (reading || performance.now() - readAt > FRESH_MS) await list.refresh(meta)
    },
    refresh(meta) {
      reading ??= read(meta).finally(() => {
        reading = undefined
      })
      return reading
    },
    expire() {
      readAt = Number.NEGATIVE_INFINITY
    },
    note(result, isFirst) {
      if (isFirst) lists += 1
      const seen: unknown = Object(result).tools
      for (const tool of Array.isArray(seen) ? seen.map(toolOf) : []) {
        if (tool === undefined) continue
        const before = shown.get(tool.name)
        const same = before?.list === lists ? before.tools : []
        shown.set(tool.name, { list: lists, tools: [...same, tool] })
      }
    },
    isAnswer({ id, method, ...rest }) {
      const settle = method === undefined ? asked.get(id) : undefined
      settle?.(Object(rest).result)
      return settle !== undefined
    },
    failed(id) {
      const settle = asked.get(id)
      settle?.(undefined)
      return settle !== undefined
    },
    stop() {
      for (const settle of asked.values()) settle(undefined)
    },
  }
  return list
}

/** @returns nothing unless the list is whole */
async function readPages(
  answerTo: (params: JsonObject) => Promise<unknown>,
  params: JsonObject,
): Promise<Tool[]> {
  const found: Tool[] = []
  let cursor: unknown
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const result = Object(await answerTo({ ...params, ...(typeof cursor === 'string' && { cursor }) }))
    if (!Array.isArray(result.tools)) return []
    found.push(...result.tools.map(toolOf).filter((tool: Tool | undefined) => tool !== undefined))
    cursor = result.nextCursor
    if (typeof cursor !== 'string') return found
  }
  return []
}

/** What a request has to say about its client since revision 2026-07-28, and nothing that belongs to one request alone. */
export function clientMeta(params: JsonObject): JsonObject {
  const entries = Object.entries(Object(params._meta)).filter(([name]) =>
    /^io\.modelcontextprotocol\/(protocol|client)/.test(name),
  )
  return Object.fromEntries(entries) as JsonObject
}

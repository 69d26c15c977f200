import { Invalid } from '../../src/errors.ts'
import { copyJson, type Json, type JsonObject } from '../../src/json.ts'
import type { Message } from '../mcp-message.ts'

const ENVELOPE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
/** Of a call. A server may act upon any other, which neither the rules nor a person would see. */
const PARAMETERS = ['name', 'arguments', '_meta', 'task', 'inputResponses', 'requestState']

/** A message of the client. What is forwarded is written anew from it. */
export interface ClientMessage extends Message {
  jsonrpc: '2.0'
  params?: Record<string, unknown>
}

/**
 * Reads a message of the client. The server may read the same bytes in another way, and so run what was not judged: it may take the
 * first of two equal names, or names in other letters (as Go does). So such messages are refused, and all are written anew.
 * @throws Invalid
 */
export function readClientMessage(line: string): ClientMessage {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new Invalid('this is not a JSON-RPC message.')
  }
  if (Array.isArray(value)) throw new Invalid('several messages in one are not supported.')
  const message: Record<string, unknown> = Object(value)
  const { jsonrpc, id, method, params } = message
  const isId = id === undefined || typeof id === 'string' || Number.isSafeInteger(id)
  const isKnown = Object.keys(message).every((name) => ENVELOPE.includes(name))
  const isCall = typeof method === 'string' && (params === undefined || isObject(params))
  const isAnswer = method === undefined && id !== undefined && ('result' in message || 'error' in message)
  if (jsonrpc !== '2.0' || !isId || !isKnown || !(isCall || isAnswer))
    throw new Invalid('this is not a JSON-RPC message.')
  return message as unknown as ClientMessage
}

/** A call of a tool, frozen: what is judged, shown to a person and forwarded. */
export interface ToolCall {
  name: string
  given: JsonObject
  /** All parameters, with the name and the arguments. */
  params: JsonObject
}

/** Freezes the parameters of `tools/call`. @throws Invalid for what the server might read otherwise */
export function readToolCall(params: unknown): ToolCall {
  const copy = copyJson(params ?? {}, 'the call')
  checkReadOneWay(copy)
  const frozen: JsonObject = Object(copy)
  const unknown = Object.keys(frozen).find((key) => !PARAMETERS.includes(key))
  if (unknown !== undefined)
    throw new Invalid(
      `a call may not have ${JSON.stringify(unknown)} beside its name and arguments: nobody would see it.`,
    )
  const { name, arguments: given = {} } = frozen
  if (typeof name !== 'string' || name === '' || !isObject(given))
    throw new Invalid('a call must name a tool, and its arguments must be an object.')
  return { name, given, params: frozen }
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function checkReadOneWay(value: Json): void {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new Invalid(`the whole number ${value} is too large to be passed exactly. Send it as a text.`)
  if (value === null || typeof value !== 'object') return
  const names = Array.isArray(value) ? [] : Object.keys(value)
  const folded = new Set(names.map(foldCase))
  if (folded.size < names.length)
    throw new Invalid('two names in the call differ only in upper and lower case.')
  for (const item of Object.values(value)) checkReadOneWay(item)
}

/** As readers that ignore case do, who also take two signs beyond ASCII for k and s. */
export function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase()
}

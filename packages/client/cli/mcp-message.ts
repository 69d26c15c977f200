/** A message of JSON-RPC 2.0; requests have an id, notifications none. */
export interface Message {
  id?: string | number
  method?: string
  params?: Record<string, unknown>
}

/** Where each request names its revision, since 2026-07-28. */
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** The headers of a message. @param agreed the revision that `initialize` agreed on */
export function headersOf({ method, params }: Message, agreed: string | undefined): Record<string, string> {
  const own = versionIn(params?._meta, VERSION_KEY)
  const version = own ?? agreed
  const name = params?.name ?? params?.uri
  return {
    accept: 'application/json, text/event-stream',
    ...(version !== undefined && { 'mcp-protocol-version': version }),
    ...(own !== undefined && typeof method === 'string' && { 'mcp-method': headerOf(method) }),
    ...(own !== undefined && typeof name === 'string' && { 'mcp-name': headerOf(name) }),
  }
}

/** A header holds no other text; the protocol's form for the rest. Else `fetch` fails, and the call is repeated as if it were lost. */
function headerOf(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

/** The revision that an object names. */
export function versionIn(holder: unknown, name = 'protocolVersion'): string | undefined {
  const value: unknown = Object(holder)[name]
  return typeof value === 'string' ? value : undefined
}

/** Reads one message; undefined for anything else, also for several at once. */
export function parseMessage(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

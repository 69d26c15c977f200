import type { TestCaller } from './caller.ts'

/** One server-sent event as a client sees it. */
interface SeenEvent {
  event?: string
  id?: string
  retry?: string
  data?: Record<string, unknown>
}

/** A client of a stream. */
export interface EventSourceClient {
  status: number
  headers: Headers
  /** The next block of the stream that is no comment, or undefined at its end. */
  next(): Promise<SeenEvent | undefined>
  /** Everything up to the end. */
  rest(): Promise<SeenEvent[]>
  close(): void
}

/** Opens the stream of a request as that caller. */
export function openEvents(
  caller: TestCaller,
  url: string,
  id: string,
  headers: Record<string, string> = {},
): Promise<EventSourceClient> {
  const address = `${url}/api/v1/approvals/${id}/events`
  return openStream(address, { authorization: `Bearer ${caller.token}`, ...headers })
}

/** Opens any stream. */
export async function openStream(
  address: string,
  headers: Record<string, string>,
): Promise<EventSourceClient> {
  const gone = new AbortController()
  const response = await fetch(address, { headers, signal: gone.signal })
  const blocks = readBlocks(response)
  const next = async (): Promise<SeenEvent | undefined> => {
    const { value, done } = await blocks.next()
    return done ? undefined : value
  }
  return {
    status: response.status,
    headers: response.headers,
    next,
    async rest() {
      const events: SeenEvent[] = []
      for (let event = await next(); event !== undefined; event = await next()) events.push(event)
      return events
    },
    close: () => gone.abort(),
  }
}

async function* readBlocks(response: Response): AsyncGenerator<SeenEvent, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    // Every fifteen seconds, whatever else happens.
    for (const block of blocks) if (block !== ': still here') yield parseBlock(block)
  }
  if (text !== '') throw new Error(`the stream ended inside a block: ${text}`)
  return undefined
}

/** WHATWG HTML, section 9.2.6. @throws on a field that is none */
function parseBlock(block: string): SeenEvent {
  const seen: SeenEvent = {}
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(event|id|retry|data): (.*)$/.exec(line) ?? expectField(line)
    if (field === 'data') seen.data = Object(JSON.parse(value))
    else if (field === 'event' || field === 'id' || field === 'retry') seen[field] = value
  }
  return seen
}

function expectField(line: string): never {
  throw new Error(`not a line of an event: ${line}`)
}

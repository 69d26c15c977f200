/** The most bytes of one message. Pictures and files pass; a message without end would take all memory. */
const MOST_BYTES = 64 * 1024 * 1024

/** More than one message may have. */
export class TooLong extends Error {
  override readonly name = 'TooLong'

  constructor() {
    super('A message of more than 64 MiB was not read.')
  }
}

/** Counts bytes. @returns a function that throws TooLong at the first that is too much */
function counter(): (chunk: Uint8Array) => void {
  let bytes = 0
  return ({ length }) => {
    bytes += length
    if (bytes > MOST_BYTES) throw new TooLong()
  }
}

/** Reads all of a stream. @throws TooLong */
export async function readBody(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  const count = counter()
  for await (const chunk of stream) {
    count(chunk)
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}

/**
 * Splits a stream at line feeds and at nothing else. Node's own reader may also split at other signs, which a text in JSON may hold.
 * The bytes of a line stay as they came.
 * @throws TooLong
 */
export async function* readLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Uint8Array[] = []
  let count = counter()
  for await (const chunk of stream) {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      yield Buffer.concat(parts)
      parts = []
      count = counter()
      start = end + 1
    }
    if (start === chunk.length) continue
    parts.push(chunk.subarray(start))
    count(chunk.subarray(start))
  }
  if (parts.length > 0) yield Buffer.concat(parts)
}

/** One server-sent event (WHATWG HTML, section 9.2). */
export interface ServerEvent {
  event: string
  data: string
  /** The id of the last event that had one. */
  id?: string | undefined
  /** ms after which to connect again, if the stream said it. */
  retry?: number | undefined
}

/** Reads server-sent events. @throws TooLong */
export async function* readEvents(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent, void, undefined> {
  let [id, retry]: [string | undefined, number | undefined] = [undefined, undefined]
  let event = ''
  let data: string[] = []
  let count = counter()
  for await (const bytes of readLines(stream)) {
    count(bytes)
    const line = bytes.toString().replace(/\r$/, '')
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
    else if (name === 'id') id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retry = Number(value)
    else if (line === '') {
      if (data.length > 0 || event || id !== undefined)
        yield { event: event || 'message', data: data.join('\n'), id, retry }
      event = ''
      data = []
      count = counter()
    }
  }
}

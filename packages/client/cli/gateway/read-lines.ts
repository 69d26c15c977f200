/**
 * Splits a stream at line feeds and at nothing else. Node's own reader may also split at other signs, which a text in JSON may hold.
 * The bytes of a line stay as they came.
 */
export async function* readLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let parts: Uint8Array[] = []
  for await (const chunk of stream) {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      yield Buffer.concat(parts)
      parts = []
      start = end + 1
    }
    if (start < chunk.length) parts.push(chunk.subarray(start))
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

/** Reads server-sent events. */
export async function* readEvents(
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent, void, undefined> {
  let [id, retry]: [string | undefined, number | undefined] = [undefined, undefined]
  let event = ''
  let data: string[] = []
  for await (const bytes of readLines(stream)) {
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
    }
  }
}

import type { IncomingMessage } from 'node:http'
import { refusal } from '../../src/domain/errors.ts'
import { parsed } from './fetch-json.ts'

const MOST_BYTES = 256 * 1024

/**
 * The JSON body of an activity. Nobody parses bodies before us, so that nothing is read of whoever has no valid token.
 * @throws Refusal `unsupported_media_type`, `chat_body_too_large`, `invalid_json`
 */
export async function readJsonBody(request: IncomingMessage): Promise<object> {
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = request.headers
  if (!/^application\/json\b/i.test(type) || coding !== 'identity') throw refusal('unsupported_media_type')
  const body = parsed(utf8(await readBytes(request)))
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refusal('invalid_json')
  return body
}

/** By events: leaving a loop over the request early would cut the connection before the answer. */
function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= MOST_BYTES) chunks.push(chunk)
      else reject(refusal('chat_body_too_large'))
    })
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', () => reject(refusal('invalid_json')))
    request.once('close', () => reject(refusal('invalid_json')))
  })
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refusal('invalid_json')
  }
}

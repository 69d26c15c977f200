import { createHash } from 'node:crypto'
import type { Document } from 'mongodb'
import { expect } from 'vitest'
import { createSequencer } from '../../src/flow/audit/log.ts'
import { createRelay, NO_LOOPS } from '../../src/flow/relay/relay.ts'
import { openCheckpoint } from '../../src/signing/log/checkpoint.ts'
import { parseVkey } from '../../src/signing/log/note.ts'
import type { TestService } from './service.ts'

export const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** What the service says of its logs; `path` is where the one that grows is read. */
export async function described({ url }: TestService) {
  const answer = Object(await (await fetch(`${url}/.well-known/countersign-log`)).json())
  return { ...answer, vkey: String(answer.vkey), path: String(answer.url).replace(url, '') }
}

/** Puts what happened into the trail and logs it. @returns the checkpoint, opened with the key that the service publishes */
export async function logNews(service: TestService) {
  await createRelay(service.composition.deps, NO_LOOPS).run()
  await createSequencer(service.composition.deps).run()
  const { vkey, path } = await described(service)
  const note = await (await fetch(`${service.url}${path}/checkpoint`)).text()
  return { note, ...(await openCheckpoint(note, await parseVkey(vkey))) }
}

/** Fetches a tile, which caches may keep. */
export async function tileOf({ url }: TestService, path: string): Promise<Buffer> {
  const response = await fetch(`${url}${path}`)
  const { status, headers } = response
  expect([status, headers.get('Content-Type'), headers.get('Cache-Control')], path).toEqual([
    200,
    'application/octet-stream',
    'public, max-age=31536000, immutable',
  ])
  return Buffer.from(await response.arrayBuffer())
}

/** The entries of a bundle (C2SP tlog-tiles). */
export function unbundle(bytes: Buffer): Buffer[] {
  const entries: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at))
    entries.push(bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at)))
  return entries
}

/** The root of RFC 6962 over these entries, without anything of ours. */
export function rootOf(entries: readonly Uint8Array[]): string {
  const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const mth = (from: number, to: number): Buffer => {
    if (to - from === 1) return sha256(Buffer.of(0), entries[from] ?? Buffer.alloc(0))
    let k = 1
    while (k * 2 < to - from) k *= 2
    return sha256(Buffer.of(1), mth(from, from + k), mth(from + k, to))
  }
  return entries.length === 0 ? hex(sha256()) : hex(mth(0, entries.length))
}

const KEPT = ['log_head', 'log_tiles', 'log_witnesses', 'audit_log']

/** Copies what a backup has of the log. @returns a function that puts it back, without a word of that */
export async function copyLog({ composition }: TestService) {
  const { db } = composition.connection
  const copies = await Promise.all(
    KEPT.map(async (name) => (await db?.collection(name).find().toArray()) ?? []),
  )
  return async () => {
    for (const [at, name] of KEPT.entries()) {
      await db?.collection(name).deleteMany({})
      const documents: Document[] = copies[at] ?? []
      if (documents.length > 0) await db?.collection(name).insertMany(documents)
    }
  }
}

import { createHash } from 'node:crypto'
import { z } from 'zod'

/**
 * The version of the archive: one JSON value a line, first the manifest, then for each of its collections the documents in order of
 * their `_id` as canonical Extended JSON and a line that ends the part, last a line that ends the archive.
 */
const FORMAT = 1

/** An archive cannot be read, or not here; the message says why. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError'
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.int().nonnegative()
const head = z.object({ seq: count, hash: sha256 })

const manifestSchema = z.object({
  countersign_archive: z.literal(FORMAT),
  /** The mark of the copy, which the store that it is imported into keeps. */
  copy: z.object({
    id: z.string(),
    copied_by: z.literal('export'),
    copied_on: z.string(),
    copied_at: z.iso.datetime(),
  }),
  /** No service worked on the store when it was copied. */
  stopped: z.boolean(),
  /** The build that wrote it. */
  version: z.string(),
  commit: z.string(),
  /** The store's version, see `SCHEMA_VERSION`. */
  schema_version: count,
  /** `id`: the hash of the first record of its audit trail, null if that has none; no two stores have the same. */
  store: z.object({ kind: z.string(), id: sha256.nullable() }),
  audit_head: head.nullable(),
  collections: z.array(z.object({ name: z.string().min(1), documents: count })),
  /** What of a damaged store is missing here; `documents` counts those that it concerns. */
  lost: z.array(z.object({ collection: z.string(), what: z.string(), documents: count })).optional(),
  /** The service's secrets by name: in encrypted archives alone. */
  secrets: z.record(z.string(), z.string()).optional(),
})

export type Manifest = z.infer<typeof manifestSchema>

/** The line after the documents of a collection; `bytes` and `sha256` are of their lines, each with its end. */
const partSchema = z.object({ part: z.string(), documents: count, bytes: count, sha256 })

export type Part = z.infer<typeof partSchema>

/** The last line; `sha256` is of all lines that are no documents, which contain the checksums of those. */
const endSchema = z.object({ archive: z.object({ sha256 }) })

/** @throws ArchiveError unless this version can read it */
export function parseManifest(line: string): Manifest {
  const value = parseLine(line)
  const known = z.object({ countersign_archive: z.int() }).safeParse(value)
  if (!known.success) throw new ArchiveError('it is not an archive of Countersign')
  const format = known.data.countersign_archive
  if (format > FORMAT)
    throw new ArchiveError(`a newer version wrote it (format ${format}); import it with that version`)
  return checked(manifestSchema, value)
}

/** @throws ArchiveError */
export const parsePart = (line: string): Part => checked(partSchema, parseLine(line))

/** @returns the checksum of the whole archive. @throws ArchiveError */
export const parseEnd = (line: string): string => checked(endSchema, parseLine(line)).archive.sha256

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw new ArchiveError('it is damaged: one of its lines has another form')
  return parsed.data
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new ArchiveError('it is damaged: one of its lines is not JSON')
  }
}

/** Returns the text of UTF-8 without copying its bytes first. */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')

/** Adds up the lines of a part. */
export function createPartSum(part: string) {
  const hash = createHash('sha256')
  let documents = 0
  let bytes = 0
  return {
    /** @param lines of documents, each with its end */
    add(lines: Uint8Array, many = 1): void {
      hash.update(lines)
      bytes += lines.length
      documents += many
    },
    end: (): Part => ({ part, documents, bytes, sha256: hash.digest('hex') }),
  }
}

/** Adds up the lines that are no documents. */
export function createWholeSum() {
  const hash = createHash('sha256')
  return { add: (line: string) => void hash.update(`${line}\n`), end: (): string => hash.digest('hex') }
}

export function sameSums(a: Part, b: Part): boolean {
  return a.documents === b.documents && a.bytes === b.bytes && a.sha256 === b.sha256
}

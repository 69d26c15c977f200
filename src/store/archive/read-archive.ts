import {
  ArchiveError,
  createPartSum,
  createWholeSum,
  type Manifest,
  type Part,
  parseEnd,
  parseManifest,
  parsePart,
  sameSums,
  textOf,
} from './archive-format.ts'

/** What an archive holds, and the checksum of the whole, by which it is known again. */
export interface Archive {
  manifest: Manifest
  parts: Part[]
  sha256: string
}

/** Takes the documents of a collection, as many lines at a time as have come; `documents` counts them, these included. */
export type OnLines = (
  at: { collection: string; documents: number; of: number },
  lines: readonly Uint8Array[],
) => void | Promise<void>

/**
 * Reads an archive to its end and checks it: form, versions, counts and checksums.
 * @param bytes the archive, decrypted and unpacked
 * @throws ArchiveError
 */
export async function readArchive(
  bytes: AsyncIterable<Uint8Array>,
  onLines: OnLines = () => undefined,
): Promise<Archive> {
  const lines = createLineReader(bytes)
  try {
    return await readParts(lines, onLines)
  } finally {
    await lines.close()
  }
}

async function readParts(lines: ReturnType<typeof createLineReader>, onLines: OnLines): Promise<Archive> {
  const whole = createWholeSum()
  const next = async (): Promise<string> => {
    const line = await lines.next()
    if (line === undefined) throw new ArchiveError('it is cut short: its end is missing')
    return line
  }
  const first = await next()
  const manifest = parseManifest(first)
  whole.add(first)
  const parts: Part[] = []
  for (const { name, documents } of manifest.collections) {
    const sum = createPartSum(name)
    for (let left = documents; left > 0; ) {
      const some = await lines.some(left)
      if (some.length === 0) throw new ArchiveError('it is cut short: documents are missing')
      for (const line of some) sum.add(line)
      left -= some.length
      await onLines({ collection: name, documents: documents - left, of: documents }, some)
    }
    const line = await next()
    const part = parsePart(line)
    whole.add(line)
    if (part.part !== name || !sameSums(part, sum.end()))
      throw new ArchiveError(`it is damaged: ${name} does not match its checksum`)
    parts.push(part)
  }
  const sha256 = parseEnd(await next())
  if (sha256 !== whole.end()) throw new ArchiveError('it is damaged: it does not match its checksum')
  if ((await lines.next()) !== undefined) throw new ArchiveError('it is damaged: something follows its end')
  return { manifest, parts, sha256 }
}

const LINE_END = 0x0a

/** Bytes of a line: a document of 16 MiB as EJSON is shorter. Before any checksum a small file may unpack to a line without end. */
const LONGEST_LINE = 256e6

/** Cuts bytes into lines. A line keeps its end; a last one without an end was cut short and is none. */
function createLineReader(bytes: AsyncIterable<Uint8Array>) {
  const chunks = bytes[Symbol.asyncIterator]()
  let ready: Uint8Array[] = []
  let at = 0
  /** The pieces of a line whose end has not come yet, and their bytes. */
  let begun: Uint8Array[] = []
  let length = 0
  const read = async (): Promise<boolean> => {
    const { value, done } = await chunks.next()
    if (done === true) {
      if (begun.length > 0) throw new ArchiveError('it is cut short: its last line has no end')
      return false
    }
    ready = []
    at = 0
    let from = 0
    for (let end = value.indexOf(LINE_END); end !== -1; end = value.indexOf(LINE_END, from)) {
      const rest = value.subarray(from, end + 1)
      ready.push(begun.length === 0 ? rest : Buffer.concat([...begun, rest]))
      begun = []
      from = end + 1
    }
    if (from < value.length) begun.push(value.subarray(from))
    if (from > 0) length = 0
    length += value.length - from
    if (length > LONGEST_LINE) throw new ArchiveError('it has a line that no export writes')
    return true
  }
  /** @returns up to `most` of the lines that have come; none at the end */
  const some = async (most: number): Promise<Uint8Array[]> => {
    while (at === ready.length) if (!(await read())) return []
    const taken = ready.slice(at, at + most)
    at += taken.length
    return taken
  }
  return {
    some,
    close: async () => void (await chunks.return?.()),
    async next(): Promise<string | undefined> {
      const [line] = await some(1)
      return line === undefined ? undefined : textOf(line.subarray(0, -1))
    },
  }
}

import { execFileSync } from 'node:child_process'

/** Python's standard library: it checks the CRC of every file. */
const READER = `
import base64, json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
print(json.dumps([[i.filename, i.date_time, base64.b64encode(archive.read(i)).decode()] for i in archive.infolist()]))
`

/** A file as an independent reader of archives finds it. */
export interface ReadEntry {
  name: string
  date: number[]
  content: Buffer
}

/** Reads an archive from a file. @throws when it is none, or broken */
export function readZip(file: string): ReadEntry[] {
  const read: [string, number[], string][] = JSON.parse(
    execFileSync('python3', ['-c', READER, file], { encoding: 'utf8' }),
  )
  return read.map(([name, date, content]) => ({
    name,
    date,
    content: Buffer.from(content, 'base64'),
  }))
}

// Writes the vectors that clients in other languages are tested with: test/vectors/idempotency and test/vectors/receipts. --check:
// fails if a committed file differs. Keys, times and salts are fixed, so every run writes the same bytes.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { questionVectors } from './question-vectors.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { canonicalize } = await import('../dist/src/signing/canonical.js')

write('idempotency/questions.json', questionVectors(canonicalize))

/** One entry a line, so that a diff shows which one changed. */
function write(name, entries) {
  const file = `${root}test/vectors/${name}`
  const wanted = `[\n${entries.map((entry) => JSON.stringify(entry)).join(',\n')}\n]\n`
  if (!process.argv.includes('--check')) return writeFileSync(file, wanted)
  if (readFileSync(file, 'utf8') === wanted) return
  process.stderr.write(
    `test/vectors/${name} is not what scripts/vectors.mjs writes; run: node scripts/vectors.mjs\n`,
  )
  process.exitCode = 1
}

// How long `countersign verify` takes over many bundles, one on each line of stdin, each with a log of 10^6 leaves and one witness,
// and how large a bundle is, member by member. Run: npm run build && node bench/verify-bundles.mjs [bundles=10000]
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const count = Number(process.argv[2] ?? 10_000)
const GOAL_S = (60 * count) / 10_000
const root = fileURLToPath(new URL('..', import.meta.url))
const { bases } = JSON.parse(readFileSync(`${root}test/vectors/receipts/bundles.json`, 'utf8'))
const { text, policy, keys } = bases.brief
const MOST_BYTES = 3000
const folder = mkdtempSync(join(tmpdir(), 'cs-bench-'))
writeFileSync(join(folder, 'jwks.json'), JSON.stringify(keys))
writeFileSync(join(folder, 'trust.policy'), policy)

/** Bytes of each member in the file, with its name, quotes, escapes and the comma behind it; of an object those inside. */
function sizesIn(object, path = '') {
  return Object.entries(object).reduce((sizes, [name, value]) => {
    const inside = typeof value === 'object' ? sizesIn(value, `${path}${name}.`) : {}
    const own = Buffer.byteLength(JSON.stringify({ [name]: typeof value === 'object' ? {} : value })) - 1
    return Object.assign(sizes, { [`${path}${name}`]: own }, inside)
  }, {})
}

function seconds(bundles) {
  const began = performance.now()
  const words = ['verify', '-', '--jwks', join(folder, 'jwks.json'), '--policy', join(folder, 'trust.policy')]
  const ran = spawnSync(process.execPath, [`${root}bin/countersign.mjs`, ...words, '--json'], {
    input: `${text}\n`.repeat(bundles),
    maxBuffer: 1e9,
  })
  if (ran.status !== 0) throw new Error(String(ran.stderr))
  return (performance.now() - began) / 1000
}

const few = seconds(2)
const all = seconds(count)
rmSync(folder, { recursive: true })
const each = ((all - few) / (count - 2)) * 1000
const bytes = Buffer.byteLength(text)
console.log(`a bundle: ${bytes} bytes (goal ${MOST_BYTES})`)
console.table(sizesIn(JSON.parse(text)))
console.log(
  `${count} bundles: ${all.toFixed(1)} s (goal ${GOAL_S} s), ${each.toFixed(2)} ms each after the start (goal 5 ms)`,
)
process.exitCode = all > GOAL_S || each > 5 || bytes > MOST_BYTES ? 1 : 0

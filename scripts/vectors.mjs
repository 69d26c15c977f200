// Writes the vectors that clients in other languages are tested with: test/vectors/idempotency and test/vectors/receipts. --check:
// fails if a committed file differs. Keys, times and salts are fixed, so every run writes the same bytes.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { questionVectors } from './question-vectors.mjs'
import { canonicalize, keySets } from './receipt-samples.mjs'
import { receiptVectors } from './receipt-vectors.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { verifyReceipt } = await import('../packages/client/dist/verify.js')

write('idempotency/questions.json', questionVectors(canonicalize))

const judged = await Promise.all(receiptVectors.map(judge))
write('receipts/receipts.json', judged)
write(
  'receipts/key-sets.json',
  Object.entries(keySets).map(([name, keySet]) => ({ name, ...keySet })),
)

/** Adds what a client says besides the verdict. @throws Error where the service's own check gives another one than the case states */
async function judge(one) {
  const { now, allow_sandbox, ...expected } = one.expected
  const options = { ...expected, allowSandbox: allow_sandbox, now: new Date(now) }
  const said = await verifyReceipt(one.text ?? one.receipt, keySets[one.keys], options)
  const found =
    said.verdict === 'refused'
      ? { verdict: said.verdict, code: said.code, field: said.field }
      : { verdict: said.verdict, cautions: said.cautions.length }
  const stated = { verdict: one.verdict, code: one.code, field: one.field, cautions: one.cautions }
  for (const name of Object.keys(stated))
    if (found[name] !== stated[name])
      throw new Error(`${one.about}: ${name} is ${found[name]} by the service, ${stated[name]} by the case`)
  if (said.verdict === 'refused') return one
  const { requestId, decisionId, approver, method, decidedAt, votes, cautions } = said
  return {
    ...one,
    request_id: requestId,
    decision_id: decisionId,
    approver,
    method,
    decided_at: decidedAt.toISOString(),
    votes,
    cautions,
  }
}

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

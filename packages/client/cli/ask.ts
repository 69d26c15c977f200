import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Outcome } from '../src/ask.ts'
import { countersign } from '../src/client.ts'
import { Invalid } from '../src/errors.ts'
import { readCredentials } from './credentials.ts'
import { EXIT } from './exit-codes.ts'

const HELP = `countersign ask <action> [options]

Asks a person to approve the action, waits for the decision, and uses the approval. Exit code: 0 approved, 10 rejected, 11 expired,
12 withdrawn, 13 not decided within --within, 14 used before, 20 could not ask.

  --context <json>      what is about to be done, as a JSON object; @file reads a file, - reads stdin
  --for <name>          a name of this question: the same name, action and context find the same request and its decision again
  --ttl <seconds>       how long the request waits, 60 to 604800
  --within <seconds>    how long this command waits; the request stays
  --allow-sandbox       let the decision of a sandbox key count: for trials only
  --json                print the outcome as JSON`

const OPTIONS = {
  context: { type: 'string' },
  for: { type: 'string' },
  ttl: { type: 'string' },
  within: { type: 'string' },
  'allow-sandbox': { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

/** `countersign ask`. @returns the exit code of the outcome */
export async function runAsk(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true })
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const [action, ...more] = positionals
  if (action === undefined || more.length > 0) throw new Invalid('ask takes one action, in quotes.')
  const client = countersign({
    ...readCredentials(),
    allowSandbox: values['allow-sandbox'],
    onRetry: (why, seconds) => say(`The service did not answer (${why}); trying again in ${seconds} s.`),
  })
  const outcome = await client.ask({
    action,
    context: readContext(values.context),
    // Without a name, an equal request that is still open is joined: a command that was killed asks nobody twice.
    for: values.for === undefined ? [randomUUID(), 'ask'] : ['ask', values.for],
    fields: values.for === undefined ? { reuse: 'open' } : {},
    ttlSeconds: secondsOf('ttl', values.ttl),
    withinSeconds: secondsOf('within', values.within),
    onAsked: ({ reviewUrl }) => say(`A person can decide at ${reviewUrl}`),
  })
  if (outcome.status === 'approved') await outcome.use()
  process.stdout.write(`${values.json ? JSON.stringify(fieldsOf(outcome)) : wordsOf(outcome)}\n`)
  return EXIT[outcome.status]
}

function say(words: string): void {
  process.stderr.write(`${words}\n`)
}

/** Reads `--context`. @throws Invalid unless it is a JSON object */
function readContext(given = '{}'): Record<string, unknown> {
  const text =
    given === '-'
      ? readFileSync(0, 'utf8')
      : given.startsWith('@')
        ? readFileSync(given.slice(1), 'utf8')
        : given
  try {
    const value: unknown = JSON.parse(text)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return { ...value }
  } catch {
    // Said below.
  }
  throw new Invalid('--context must be a JSON object, @ and the name of a file with one, or - for stdin.')
}

/** Reads an option. @throws Invalid unless it is a whole number */
export function secondsOf(name: string, text: string | undefined): number | undefined {
  if (text !== undefined && !/^\d+$/.test(text))
    throw new Invalid(`--${name} must be a whole number of seconds.`)
  return text === undefined ? undefined : Number(text)
}

function fieldsOf(outcome: Outcome): object {
  if (outcome.status !== 'approved') return outcome
  const { status, id, receipt } = outcome
  return { status, id, receipt }
}

/** Says what became of a request, without a full stop. */
export function wordsOf(outcome: Outcome): string {
  const { id, status } = outcome
  if (status === 'rejected')
    return `${id} was rejected${outcome.comment === null ? '' : `: ${outcome.comment}`}`
  if (status === 'pending') return `${id} is not decided yet: ${outcome.reviewUrl}`
  return status === 'used' ? `${id} was approved and used before, at ${outcome.at}` : `${id} is ${status}`
}

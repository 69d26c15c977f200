import { createHash, randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { countersign } from '../src/client.ts'
import { Invalid } from '../src/errors.ts'
import { forgetCredentials, saveCredentials } from './credentials.ts'

const HELP = `countersign login --url <address> [--email <owner>] [--name <name>]
countersign logout

Checks an API key and keeps it for the other commands, in a file that only you can read. The key is read from stdin, or asked for without
being shown; never put it on the command line. Exit code: 0, or 20 if nothing was saved.

  --url <address>   the service, like https://approvals.example.com
  --email <owner>   ask the owner of an account for a key instead: they get a request and type the code that is shown here
  --name <name>     with --email, the name that the owner sees; the name of this machine if omitted`

const OPTIONS = {
  url: { type: 'string' },
  email: { type: 'string' },
  name: { type: 'string', default: `countersign on ${hostname()}`.slice(0, 60) },
  help: { type: 'boolean', short: 'h' },
} as const

/** `countersign login`. @throws Invalid, Refused, Unreachable, having saved nothing */
export async function runLogin(argv: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true })
  const { url, email, name } = values
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  // It may be the key: then an error must not repeat it.
  if (positionals.length > 0)
    throw new Invalid(
      'login takes options only. Other users can read a key on the command line: it is read from stdin.',
    )
  if (!url) throw new Invalid('login needs --url, the address of the service.')
  if (/^http:\/\/(?!(localhost|127\.[\d.]+|\[::1\])([:/]|$))/.test(url))
    say('The key goes over the network unencrypted: this address begins with http.')
  const key = email === undefined ? await readKey() : await bootstrapKey(url, { email, client_name: name })
  // A key that was just made is fetched only once: it is kept even if the check fails.
  if (email !== undefined) saveCredentials({ url, key })
  await countersign({ url, key }).call('GET /api/v1/approvals', { query: { limit: 1 } })
  const path = saveCredentials({ url, key })
  if (key.startsWith('sa_test_')) say('This is a sandbox key: no person decides.')
  if (process.env.COUNTERSIGN_URL || process.env.COUNTERSIGN_KEY)
    say(
      'COUNTERSIGN_URL and COUNTERSIGN_KEY come first: as long as they are set, what was saved is not used.',
    )
  process.stdout.write(`The key works, and is saved in ${path}\n`)
  return 0
}

/** `countersign logout`. */
export async function runLogout(argv: string[]): Promise<number> {
  const { values } = parseArgs({ args: argv, options: { help: OPTIONS.help } })
  if (values.help) {
    process.stdout.write(`${HELP}\n`)
    return 0
  }
  const removed = forgetCredentials()
  const words = removed ? `Removed ${removed}. The key still works until it is revoked.` : 'No key was saved.'
  process.stdout.write(`${words}\n`)
  return 0
}

function say(words: string): void {
  process.stderr.write(`${words}\n`)
}

async function readKey(): Promise<string> {
  const key = (process.stdin.isTTY ? await promptKey() : await text(process.stdin)).trim()
  if (!/^sa_(live|test)_\w+$/.test(key))
    throw new Invalid('this is no API key: one begins with sa_live_ or sa_test_.')
  return key
}

/** Asks at the terminal, and shows nothing of what is typed. */
async function promptKey(): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output, terminal: true })
  process.stderr.write('API key (not shown): ')
  try {
    return await new Promise((answer, failed) => {
      lines.once('close', () => failed(new Invalid('no key was entered.')))
      lines.question('', answer)
    })
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** Asks the owner for a key, bound to a verifier that never leaves this process (RFC 7636). @throws Invalid unless they consent */
async function bootstrapKey(url: string, who: { email: string; client_name: string }): Promise<string> {
  const verifier = randomBytes(32).toString('base64url')
  // There is no key yet; these calls need none.
  const client = countersign({ url, key: 'none' })
  const started = await client.call('POST /api/v1/bootstrap', {
    body: {
      ...who,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    },
  })
  say(started.message)
  for (;;) {
    await sleep(started.interval * 1000)
    const input = { path: { id: started.bootstrap_id } }
    const answer = await client.call('GET /api/v1/bootstrap/{id}/status', input, {
      headers: { 'x-code-verifier': verifier },
    })
    if (answer.status === 'approved') return answer.api_key
    if (answer.status === 'rejected') throw new Invalid('the owner refused to give a key.')
    if (answer.status === 'expired') throw new Invalid(answer.message)
  }
}

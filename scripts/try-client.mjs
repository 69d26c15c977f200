// Packs the client as `npm pack` does, installs the packed file in an empty folder, without a network, and uses it there from a
// script, from TypeScript and on the command line: part of `npm run check`.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const LIMIT_MS = 120_000

/** Asks a service that answers nothing but an error, and checks a receipt of the documents: all the package does by itself. */
const SCRIPT = `
import { readFileSync } from 'node:fs'
import { countersign, Refused } from '@countersign/client'
import { verifyReceipt } from '@countersign/client/verify'
const cs = countersign({ url: process.argv[2], key: 'sa_live_none' })
const error = await cs.ask({ action: 'Try', for: ['run', 'call'] }).catch((error) => error)
if (!(error instanceof Refused) || error.code !== 'not_found') throw error
const [receipt, keys] = process.argv.slice(3).map((path) => readFileSync(path, 'utf8'))
const { verdict } = await verifyReceipt(receipt, keys)
if (verdict !== 'approved') throw new Error(verdict)
console.log('the client asks, and checks a receipt')
`

const TYPED = `
import { countersign, type Outcome } from '@countersign/client'
import { type BundleVerdict, verifyBundle } from '@countersign/client/bundle'
import { type Verdict, verifyReceipt } from '@countersign/client/verify'
const cs = countersign({ url: 'https://approvals.example.com', key: 'sa_live_none' })
const pay = cs.guard((amount: number) => amount * 2, { action: (amount) => \`Pay \${amount}\`, for: () => ['run', 'call'] })
export const paid: Promise<number> = pay(3)
export const outcome: Promise<Outcome> = cs.resume('req_')
export const list = cs.call('GET /api/v1/approvals', { query: { status: 'pending' } }).then(({ data }) => data[0]?.id)
export const verdict: Promise<Verdict> = verifyReceipt({}, {})
export const bundle: Promise<BundleVerdict> = verifyBundle('{}', {}, 'quorum none')
`

/** What the examples of the client's own page take from the program around them. */
const AROUND = `
declare const process: { env: Record<string, string | undefined> }
declare const cs: import('@countersign/client').Client
declare const runId: string, callId: string, action: string, context: Record<string, unknown>, keySet: unknown
declare const outcome: import('@countersign/client').Approval
interface Refund { order: string; amount: string }
declare const shop: { refund(order: string, amount: string): Promise<void> }
declare function act(context: object): void
declare function save(handle: string): void
declare function readFile(path: string, encoding: 'utf8'): Promise<string>
declare function writeFile(path: string, text: string): Promise<void>
`

/** The examples, each a function of its own: strict TypeScript must take them as they stand. */
function examplesOf(page) {
  return [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => {
    const imports = code.match(/^import .*$/gm) ?? []
    return `${imports.join('\n')}\n${AROUND}export async function example() {\n${code.replace(/^import .*$/gm, '')}}\n`
  })
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-client-'))
const service = createServer((_, response) => {
  response.writeHead(404).end('{"error":"not_found","message":"There is none."}')
})
try {
  const packed = npm(
    join(root, 'packages/client'),
    'pack',
    '--ignore-scripts',
    '--silent',
    '--json',
    '--pack-destination',
    folder,
  )
  const [{ filename, size, files }] = JSON.parse(packed)
  process.stdout.write(`the client: ${files.length} files, ${(size / 1e3).toFixed(1)} kB packed\n`)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  npm(
    folder,
    'install',
    '--offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--silent',
    `./${filename}`,
  )
  writeFileSync(join(folder, 'try.mjs'), SCRIPT)
  writeFileSync(join(folder, 'try.ts'), TYPED)
  const examplesInPage = examplesOf(readFileSync(join(root, 'packages/client/README.md'), 'utf8'))
  for (const [index, code] of examplesInPage.entries())
    writeFileSync(join(folder, `example-${index}.ts`), code)
  const tsc = join(root, 'node_modules/.bin/tsc')
  const strict = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--module',
    'nodenext',
    '--target',
    'es2022',
  ]
  run(tsc, [
    ...strict,
    '--lib',
    'es2022,dom',
    '--types',
    '',
    'try.ts',
    ...examplesInPage.map((_, index) => `example-${index}.ts`),
  ])
  await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve))
  const examples = ['receipt.json', 'jwks.json'].map((name) => join(root, 'examples', name))
  const url = `http://127.0.0.1:${service.address().port}`
  await tried(process.execPath, ['try.mjs', url, ...examples], 0)
  const command = join(folder, 'node_modules/.bin/countersign')
  await tried(command, ['help'], 0)
  await tried(command, ['ask', 'Try'], 20, { COUNTERSIGN_URL: url, COUNTERSIGN_KEY: 'sa_live_none' })
  // What is no call of a host denies.
  await tried(command, ['hook'], 2)
} finally {
  service.close()
  rmSync(folder, { recursive: true, force: true })
}

function npm(cwd, ...args) {
  return execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    timeout: LIMIT_MS,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function run(program, args) {
  execFileSync(program, args, { cwd: folder, timeout: LIMIT_MS, stdio: 'inherit' })
}

/** Runs a program, and wants that exit code. Not at once: the service answers from this process. */
async function tried(program, args, wanted, env = {}) {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: LIMIT_MS,
  })
  const [code] = await once(child, 'exit')
  if (code !== wanted) throw new Error(`the packed client does not work: ${args[0]} ended with ${code}`)
}

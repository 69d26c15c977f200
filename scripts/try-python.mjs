// Types and builds the client for Python, and tries it from its packed files in an empty environment without a network: part of
// `npm run check`. Both files make the same wheel, byte for byte, so that one try is of both. COUNTERSIGN_PYTHON is a Python with
// mypy, build, hatchling and cryptography, as .ci/run sets up; without it, a notice.
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const python = process.env.COUNTERSIGN_PYTHON
const LIMIT_MS = 120_000

/** pip without a network. */
const OFFLINE = ['--no-index', '--no-deps', '--quiet', '--disable-pip-version-check']

/** Asks a service that answers nothing but an error: the package works by the standard library alone. */
const SCRIPT = `
import sys
from countersign import Countersign, Refused
cs = Countersign(sys.argv[1], "sa_live_none")
try:
    cs.ask("Try", for_=("run", "call"))
    sys.exit("asked nobody, and went on")
except Refused as error:
    assert error.code == "not_found", error
try:
    from countersign.verify import verify_receipt
    verify_receipt(open(sys.argv[2]).read(), open(sys.argv[3]).read())
    sys.exit("checked a receipt without cryptography")
except ImportError:
    pass
print("the client for Python asks")
`

const TYPED = `
from countersign import Countersign, Outcome
def outcome(cs: Countersign) -> str:
    found: Outcome = cs.ask("Pay", for_=("run", "call"))
    return found.use().id if found.status == "approved" else found.id
`

if (python === undefined) {
  process.stdout.write('COUNTERSIGN_PYTHON is not set: the package for Python is not tried\n')
} else {
  await tryPackage()
}

async function tryPackage() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-python-'))
  const service = createServer((_, response) => {
    response.writeHead(404).end('{"error":"not_found","message":"There is none."}')
  })
  try {
    run(python, ['-m', 'mypy', '--cache-dir', join(folder, 'mypy')], join(root, 'python'))
    // The wheel is made of the source distribution.
    run(python, ['-m', 'build', '--no-isolation', '--outdir', join(folder, 'made'), join(root, 'python')])
    const made = readdirSync(join(folder, 'made'))
    const [sdist] = made.filter((name) => name.endsWith('.tar.gz'))
    const [wheel] = made.filter((name) => name.endsWith('.whl'))
    run(python, [
      '-m',
      'pip',
      'wheel',
      ...OFFLINE,
      '--no-build-isolation',
      '--wheel-dir',
      join(folder, 'again'),
      join(folder, 'made', sdist),
    ])
    const [fromWheel, fromSdist] = ['made', 'again'].map((name) => readFileSync(join(folder, name, wheel)))
    if (!fromWheel.equals(fromSdist)) throw new Error('the source distribution makes another wheel')
    await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve))
    const examples = ['receipt.json', 'jwks.json'].map((name) => join(root, 'examples', name))
    writeFileSync(join(folder, 'try.py'), SCRIPT)
    writeFileSync(join(folder, 'typed.py'), TYPED)
    const empty = join(folder, 'empty')
    run(python, ['-m', 'venv', '--without-pip', empty])
    const own = join(empty, 'bin/python')
    run(python, ['-m', 'pip', '--python', own, 'install', ...OFFLINE, join(folder, 'made', wheel)])
    // Not at once: the service answers from this process.
    const url = `http://127.0.0.1:${service.address().port}`
    const { stdout } = await promisify(execFile)(own, ['-I', join(folder, 'try.py'), url, ...examples], {
      timeout: LIMIT_MS,
    })
    process.stdout.write(stdout)
    const typed = ['--strict', '--cache-dir', join(folder, 'mypy'), '--python-executable', own, 'typed.py']
    // The examples that need no other package.
    const plain = ['plain.py', 'github-actions/approved_run.py'].map((name) =>
      join(root, 'examples/agents', name),
    )
    run(python, ['-m', 'mypy', ...typed, ...plain])
  } finally {
    service.close()
    rmSync(folder, { recursive: true, force: true })
  }

  function run(program, args, cwd = folder) {
    execFileSync(program, args, { cwd, timeout: LIMIT_MS, stdio: ['ignore', 'ignore', 'inherit'] })
  }
}

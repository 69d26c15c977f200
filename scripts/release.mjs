// Makes a release of the commit that is checked out: node scripts/release.mjs --key <ssh key> --to <folder>
// --dry-run: does all of it with a key of its own, in a folder that is removed. docs/release.md says what is made and how to check it.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const NAMESPACE = 'countersign-release'
let errors = 'inherit'
const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: {
    key: { type: 'string' },
    to: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
  },
})
const dryRun = values['dry-run']
if (!dryRun && (values.key === undefined || values.to === undefined))
  fail('give --key <ssh key> and --to <folder>, or --dry-run')
const scratch = mkdtempSync(join(tmpdir(), 'countersign-release-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

const lacks = dryRun && whatIsMissing()
if (lacks) {
  process.stdout.write(`skipped: ${lacks}\n`)
  process.exit(0)
}

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const commit = git('rev-parse', 'HEAD')
refuseUnready()
const to = resolve(values.to ?? join(scratch, 'release'))
mkdirSync(to, { recursive: true })
const begun = new Date()
const package_ = buildTwice()
write('sbom.cdx.json', npm(root, 'sbom', '--sbom-format', 'cyclonedx'))
write('provenance.json', `${JSON.stringify(provenance(package_), null, 2)}\n`)
const files = [basename(package_), 'provenance.json', 'sbom.cdx.json']
write('SHA256SUMS', files.map((name) => `${sha256(join(to, name))}  ${name}\n`).join(''))
sign(values.key ?? keyOfOwn())
process.stdout.write(
  `${version} (${commit.slice(0, 12)}): ${[...files, 'SHA256SUMS', 'SHA256SUMS.sig'].join(', ')}${dryRun ? ', made and checked' : ''}\n`,
)

function fail(why) {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}

function run(command, args, cwd, input) {
  return execFileSync(command, args, {
    cwd,
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', errors],
    maxBuffer: 1e8,
  })
}

/** Names what a dry run cannot do without: sources that were unpacked have no commits. */
function whatIsMissing() {
  if (!passes(() => run('git', ['rev-parse', '--verify', '--quiet', 'HEAD'], root)))
    return 'this is no checkout of git'
  // Without a right argument it ends with an error of its own; where there is none, with ENOENT.
  const { error } = spawnSync('ssh-keygen', ['-?'], { stdio: 'ignore' })
  return error === undefined ? undefined : 'there is no ssh-keygen'
}

function git(...args) {
  return run('git', args, root).trim()
}

function npm(cwd, ...args) {
  return run('npm', args, cwd)
}

function write(name, text) {
  writeFileSync(join(to, name), text)
}

function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

/** A release is of a commit that everybody can look at, under a version that says what changed. */
function refuseUnready() {
  if (dryRun) return
  if (git('status', '--porcelain') !== '') fail('the tree has changes that are in no commit')
  const dated = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`, 'm')
  if (!dated.test(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')))
    fail(`CHANGELOG.md has no heading "## [${version}] - <date>"`)
  if (git('tag', '--points-at', 'HEAD', `v${version}`) === '') fail(`the commit has no tag v${version}`)
}

/** Two builds of the commit in different places must be the same to the byte, or nobody could check that it is of that commit. */
function buildTwice() {
  const packages = ['one', 'other'].map((name) => {
    const clone = join(scratch, name)
    run('git', ['clone', '--quiet', '--no-hardlinks', root, clone], scratch)
    run('git', ['checkout', '--quiet', commit], clone)
    npm(clone, 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--silent')
    run(process.execPath, ['scripts/build.mjs'], clone)
    const out = name === 'one' ? to : clone
    const [{ filename }] = JSON.parse(
      npm(clone, 'pack', '--ignore-scripts', '--silent', '--json', '--pack-destination', out),
    )
    return join(out, filename)
  })
  const [one, other] = packages.map(sha256)
  if (one !== other) fail(`two builds of ${commit} differ: ${one}, ${other}`)
  return packages[0]
}

/** An in-toto statement v1 with SLSA provenance v1: which commit, which locked packages, which tools. */
function provenance(path) {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: basename(path), digest: { sha256: sha256(path) } }],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:countersign:npm-pack:1',
        externalParameters: {
          command: 'npm ci --ignore-scripts && node scripts/build.mjs && npm pack',
          version,
        },
        resolvedDependencies: [
          { uri: 'urn:countersign:source', digest: { gitCommit: commit } },
          {
            uri: 'urn:countersign:package-lock.json',
            digest: { sha256: sha256(join(root, 'package-lock.json')) },
          },
        ],
      },
      runDetails: {
        builder: {
          id: 'urn:countersign:scripts/release.mjs',
          version: { node: process.version, npm: npm(root, '--version').trim() },
        },
        metadata: { startedOn: begun.toISOString(), finishedOn: new Date().toISOString() },
      },
    },
  }
}

function keyOfOwn() {
  const key = join(scratch, 'key')
  run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'dry-run', '-f', key], scratch)
  return key
}

/** Signs, and checks as docs/release.md says; of a dry run also that a changed list is refused. */
function sign(key) {
  const sums = join(to, 'SHA256SUMS')
  run('ssh-keygen', ['-q', '-Y', 'sign', '-n', NAMESPACE, '-f', key, sums], scratch)
  const signers = join(scratch, 'signers')
  writeFileSync(signers, `release ${run('ssh-keygen', ['-y', '-f', key], scratch)}`)
  const verify = (text) =>
    run(
      'ssh-keygen',
      ['-Y', 'verify', '-f', signers, '-I', 'release', '-n', NAMESPACE, '-s', `${sums}.sig`],
      to,
      text,
    )
  verify(readFileSync(sums))
  run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], to)
  if (!dryRun) return
  errors = 'ignore'
  appendFileSync(join(to, basename(package_)), 'x')
  for (const [what, check] of [
    ['a changed list', () => verify(`${readFileSync(sums, 'utf8')} `)],
    ['a changed package', () => run('sha256sum', ['--check', '--status', 'SHA256SUMS'], to)],
  ])
    if (passes(check)) fail(`${what} is not noticed`)
}

function passes(check) {
  try {
    check()
    return true
  } catch {
    return false
  }
}

import { Command, CommanderError, type Option } from 'commander'
import { operatorWords } from '../compose/operator-words.ts'
import { loadDataDir } from '../config/config.ts'
import { buildInfo } from '../config/package-path.ts'
import { refuseLostStore } from '../config/secrets.ts'
import { Refusal } from '../domain/errors.ts'
import type { AuditCheckOptions, AuditListOptions } from './audit.ts'
import type { PackageOptions } from './chat-apps.ts'
import { answers, examples, type Foreign, JSON_OPTION, nameForeign } from './command.ts'
import { runCompletion, SHELLS } from './completion.ts'
import { addDoctorCommands } from './doctor/doctor-commands.ts'
import type { EraseOptions } from './erase.ts'
import type { CreateKeyOptions, RotateOptions } from './keys.ts'
import type { ListRequestsOptions } from './requests.ts'
import type { ResetOptions } from './reset-user.ts'
import { addStoreCommands } from './store-commands.ts'
import { CliError, runOn, setExitCode, type Terminal, terminal, usageError } from './terminal.ts'
import type { InviteOptions } from './users.ts'
import type { VerifyOptions } from './verify-receipt.ts'
import type { DeliveriesOptions } from './webhooks.ts'

/** Each command loads only the modules it needs, to start quickly: the service alone loads as long as ten commands. */
const load = {
  service: () => import('../main.ts'),
  store: () => import('embedded-mongo'),
  users: () => import('./users.ts'),
  resetUser: () => import('./reset-user.ts'),
  erase: () => import('./erase.ts'),
  keys: () => import('./keys.ts'),
  audit: () => import('./audit.ts'),
  verify: () => import('./verify-receipt.ts'),
  requests: () => import('./requests.ts'),
  demo: () => import('./demo.ts'),
  webhooks: () => import('./webhooks.ts'),
  chatApps: () => import('./chat-apps.ts'),
}

/**
 * Runs one command, on the process's own environment and streams unless `on` gives others. `callers` it only names. Never throws.
 * @returns the exit code, one of `EXIT`
 */
export function runCli(argv: readonly string[], on?: Terminal, callers: Foreign = {}): Promise<number> {
  const json = argv.includes('--json')
  return runOn(on, async () => {
    try {
      await createProgram(json, callers).parseAsync([...argv], { from: 'user' })
    } catch (error) {
      tellError(error, json)
    }
  })
}

/** Defines the commands and their options. @param json keeps help off stderr, where usage errors are then JSON */
function createProgram(json: boolean, callers: Foreign): Command {
  const { version, commit } = buildInfo()
  const program = new Command('countersign')
    .description('Human approval for agents and applications: run and administer the service.')
    .version(`${version} (${commit})`)
    // Known here, it is known to every command, before and after its name; the commands name it only in their help.
    .option(...JSON_OPTION)
    .configureOutput({
      writeOut: (text) => terminal().stdout.write(text),
      writeErr: (text) => (json ? undefined : terminal().stderr.write(text)),
      // `tellError` reports these errors, like all others.
      outputError: () => undefined,
    })
  addServiceCommands(program, json)
  addUserCommands(program.command('user').description('people: invite, confirm, reset, quota'))
  addKeyCommands(program.command('key').description('API keys of callers'))
  addSigningKeyCommands(program.command('signing-keys').description('keys that the service signs with'))
  // The old name, for one release.
  addSigningKeyCommands(
    program.command('keys', { hidden: true }).hook('preAction', () => warnOfOldName(json)),
  )
  addAuditCommands(program.command('audit').description('read and check the tamper-evident audit trail'))
  addEraseCommands(
    program.command('erase').description('erase the texts of a request, or a person, for ever'),
  )
  addVerifyCommand(program)
  addRequestCommands(program.command('requests').description('look at requests, and withdraw them'))
  addWebhookCommands(program.command('webhooks').description('look at deliveries, and send them again'))
  addCompletionCommand(program)
  answers(program.command('demo').description('fill a new development store, to look around'), async () =>
    (await load.demo()).runDemo(),
  )
  addSlackCommands(program.command('slack').description('cards in Slack'))
  addTeamsCommands(program.command('teams').description('cards in Microsoft Teams'))
  examples(
    program,
    'countersign user invite ann@example.com --name Ann',
    'countersign key create --owner ann@example.com --name deploy-bot',
    'countersign doctor',
  )
  nameChoices(nameForeign(program, callers))
  return program
}

/** Says that `keys` has another name now. Silent with `--json`, where stderr is for the command's error alone. */
function warnOfOldName(json: boolean): void {
  if (json) return
  terminal().stderr.write(
    'warning: "countersign keys" is now "countersign signing-keys"; the next release removes the old name\n',
  )
}

const MISSING = ['commander.missingArgument', 'commander.missingMandatoryOptionValue', 'commander.help']

/** `doctor` takes no argument, so a word after it is meant as one of its commands. */
const UNKNOWN = ['commander.unknownCommand', 'commander.excessArguments']

/** Makes errors name everything missing and all commands: Commander stops at the first missing option and names no command. */
function nameChoices(command: Command): void {
  const { commands } = command
  command.exitOverride((error) => {
    const { registeredArguments, options, args } = command
    // `help` answers a word that it does not know as it answers none.
    const unknown = UNKNOWN.includes(error.code) ? args[0] : error.code === 'commander.help' && args[1]
    if (commands.length > 0 && unknown) {
      const names = visibleNames(command).join(', ')
      const message = `unknown command '${unknown}'; choose among ${names}`
      throw new CommanderError(error.exitCode, error.code, message)
    }
    if (error.exitCode === 0 || !MISSING.includes(error.code)) throw error
    const missing = [
      ...(error.code === 'commander.help' ? ['<command>'] : []),
      ...registeredArguments.slice(args.length).map((argument) => `<${argument.name()}>`),
      ...options.filter((option) => isMissing(command, option)).map(({ flags }) => flags),
    ]
    throw new CommanderError(error.exitCode, error.code, `missing: ${missing.join(', ')}`)
  })
  commands.forEach(nameChoices)
}

function visibleNames(command: Command): string[] {
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((known) => known.name())
  return names.filter((name) => name !== 'help')
}

function isMissing(command: Command, option: Option): boolean {
  return option.mandatory && command.getOptionValue(option.attributeName()) === undefined
}

function addServiceCommands(program: Command, json: boolean): void {
  program
    .command('serve')
    .description('run the service')
    .option(...JSON_OPTION)
    .action(async () => (await load.service()).main({ json }))
  program
    .command('store')
    .description('run the embedded store as a separate process and print its MONGODB_URI')
    .option(...JSON_OPTION)
    .action(() => runStore(json))
  addStoreCommands(program)
  addDoctorCommands(program.command('doctor'))
}

function addUserCommands(user: Command): void {
  examples(user, 'countersign user invite ann@example.com --name Ann', 'countersign user list')
  answers(
    user
      .command('owner-link')
      .description('print the one-time link by which the first owner signs up, while nobody has'),
    async () => (await load.users()).runOwnerLink(),
  )
  answers<InviteOptions>(
    user
      .command('invite <email>')
      .description('make a person with their own account, and print their one-time sign-in link')
      .option('--name <name>', 'their name on pages and in logs; the part before the @ if omitted')
      .option(
        '--account-name <name>',
        'the name of their own account, such as the organisation; theirs if omitted',
      )
      .option(
        '--renew',
        'make a new sign-in link for an existing person: the old one expired, or they were reset',
      )
      .option('--account <account_id>', 'as a member of this account; together with --role')
      .option('--role <role>', 'approver (decides requests that name them) or auditor (sees everything)'),
    async (options, email) => {
      const joins = options.account !== undefined || options.role !== undefined
      const { runInviteMember, runInviteUser } = await load.users()
      return (joins ? runInviteMember : runInviteUser)(email, options)
    },
  )
  answers(
    user.command('confirm <email>').description('vouch for the address of a person whom an owner invited'),
    async (_options, email) => (await load.users()).runConfirmUser(email),
  )
  answers<ResetOptions>(
    user
      .command('reset <email>')
      .description(
        'remove all passkeys, codes, trusted browsers and sessions of a person: if they are lost, or to stop the person',
      )
      .option(
        '--disable-webhooks',
        'also switch off the webhooks of their account; its owner can switch them on again',
      ),
    async (options, email) => (await load.resetUser()).runResetUser(email, options),
  )
  addAccountCommands(user)
  answers(user.command('list').description('list all people'), async () =>
    (await load.users()).runListUsers(),
  )
}

/** Defines the commands about the account that a person owns. */
function addAccountCommands(user: Command): void {
  answers(
    user
      .command('quota <email> <requests>')
      .description('set how many requests a month the account of a person may make; 0 for no limit'),
    async (_options, email, requests) => (await load.users()).runSetQuota(email, requests),
  )
  answers(
    user
      .command('retention <email> <days>')
      .description(
        'set after how many days the account of a person erases its finished requests; 0: when the service does',
      ),
    async (_options, email, days) => (await load.users()).runSetRetention(email, days),
  )
}

function addKeyCommands(key: Command): void {
  examples(
    key,
    'countersign key create --owner ann@example.com --name deploy-bot',
    'countersign key list --owner ann@example.com',
  )
  answers<CreateKeyOptions>(
    key
      .command('create')
      .description('make an API key; it is shown once')
      .requiredOption('--owner <email>', 'e-mail address of the owner of its account')
      .requiredOption('--name <name>', 'name of the caller, as approvers see it')
      .option('--sandbox', 'a sandbox key (sa_test_): dry runs, no person decides')
      .option('--source-control', 'for a source-control integration: all its requests are high impact')
      .option(
        '--scopes <scopes>',
        'comma-separated: approval:create,approval:read,approval:verify (default: all)',
      ),
    async (options) => (await load.keys()).runCreateKey(options),
  )
  answers<{ owner?: string }>(
    key.command('list').description('list API keys').option('--owner <email>', 'only keys of this person'),
    async (options) => (await load.keys()).runListKeys(options),
  )
  answers(
    key.command('revoke <key_id>').description('revoke an API key, at once and permanently'),
    async (_options, id) => (await load.keys()).runRevokeKey(id),
  )
}

function addSigningKeyCommands(keys: Command): void {
  examples(
    keys,
    'countersign signing-keys rotate --purpose decision --activate 24h',
    'countersign signing-keys revoke <kid> --since 2026-03-04T09:30:00Z',
  )
  answers(keys.command('list').description('list the signing keys of the service'), async () =>
    (await load.keys()).runListSigningKeys(),
  )
  answers<RotateOptions>(
    keys
      .command('rotate')
      .description('publish the next signing keys; old receipts stay valid')
      .option(
        '--purpose <purpose>',
        'decision, decision-sandbox, session, token or log (default: all but log)',
      )
      .option('--activate <when>', 'when they begin to sign: now, 30m, 24h, 7d (default: 24h)')
      .option('--now', 'the same as --activate now')
      .option(
        '--accept-settings',
        'if secrets or BASE_URL were changed on purpose: the store now uses the new values',
      ),
    async (options) => (await load.keys()).runRotateKeys(options),
  )
  answers<{ since?: string }>(
    keys
      .command('revoke <kid>')
      .description('revoke a signing key that may have leaked')
      .option('--since <time>', 'its signatures from then on become invalid (default: now)'),
    async (options, kid) => (await load.keys()).runRevokeSigningKey(kid, options),
  )
}

function addAuditCommands(audit: Command): void {
  examples(
    audit,
    'countersign audit list --type approval.approved --limit 10',
    'countersign audit check --expect <head>',
  )
  answers<AuditListOptions>(
    audit
      .command('list')
      .description('list the entries, newest first; with --json one line of JSON each')
      .option('--account <account_id>', 'only entries about this account')
      .option('--type <type>', 'only entries of this type, such as approval.approved or key.created')
      .option('--subject <id>', 'only entries about this request, key, person, session, webhook or delivery')
      .option('--key <id>', 'only entries about this API key and the requests that it made')
      .option('--limit <n>', 'number of entries, at most (default: 50)'),
    async (options) => (await load.audit()).runAuditList(options),
  )
  answers<AuditCheckOptions>(
    audit
      .command('check')
      .description('recompute the whole trail and compare it with every state in the store')
      .option(
        '--expect <head>',
        'a head printed by an earlier check: finds a trail that was cut short or rewritten',
      )
      .option('--since <head>', 'check only what came after that head, as each night between whole checks'),
    async (options) => (await load.audit()).runAuditCheck(options),
  )
}

function addEraseCommands(erase: Command): void {
  examples(
    erase,
    'countersign erase request <req_id> --dry-run',
    'countersign erase person ann@example.com --dry-run',
  )
  answers<EraseOptions>(
    erase
      .command('request <id>')
      .description('erase action, context, comments and deliveries of a finished request, and edit its cards')
      .option('--dry-run', 'only say what there is to erase'),
    async (options, id) => (await load.erase()).runEraseRequest(id, options),
  )
  answers<EraseOptions>(
    erase
      .command('person <email>')
      .description(
        'erase all that names a person, and the texts of the requests of their own account; also by usr_…',
      )
      .option('--dry-run', 'only say what there is to erase'),
    async (options, email) => (await load.erase()).runErasePerson(email, options),
  )
}

function addVerifyCommand(program: Command): void {
  answers<VerifyOptions>(
    program
      .command('verify <receipt...>')
      .description(
        'check a receipt or bundles (files, or - for stdin, a bundle on each line) against a key set, without any store',
      )
      .requiredOption('--jwks <source>', 'pinned key set: a file, or an address, https: or http://localhost')
      .option('--policy <file>', 'of a bundle: the log and witnesses that you trust (C2SP tlog-policy)')
      .option('--enrolment', 'of a bundle: the log must say whose passkeys signed (needs --policy)')
      .option('--expect-service <url>', 'of a bundle: refuse it unless this service asked')
      .option('--expect-request <req_id>', 'refuse the receipt of any other request')
      .option('--expect-action <text>', 'refuse it unless exactly this action was decided on')
      .option(
        '--expect-context <json>',
        'with exactly this context: JSON, or @ and the name of a file with it',
      )
      .option('--expect-audience <text>', 'refuse it unless it is meant for this audience')
      .option('--expect-account <acc_id>', 'refuse it unless the caller belongs to this account')
      .option('--allow-sandbox', 'accept receipts of the sandbox, for tests'),
    async (options, ...receipts) => (await load.verify()).runVerifyReceipt(receipts, options),
  )
}

const OWNER = ['--owner <email>', 'only those of the account of this person'] as const

function addRequestCommands(requests: Command): void {
  examples(
    requests,
    'countersign requests list --status pending',
    'countersign requests show req_0123456789abcdefghjkmnpqrs',
  )
  answers<ListRequestsOptions>(
    paged(requests.command('list').description('list requests, newest first'))
      .option(...OWNER)
      .option(
        '--status <status>',
        'pending, approved, consumed (of the approved), rejected, expired or withdrawn',
      ),
    async (options) => (await load.requests()).runListRequests(options),
  )
  answers(
    requests.command('show <request_id>').description('show a request: content, approvers, votes'),
    async (_options, id) => (await load.requests()).runShowRequest(id),
  )
  answers(
    requests.command('cancel <request_id>').description('withdraw a pending request'),
    async (_options, id) => (await load.requests()).runCancelRequest(id),
  )
}

function addWebhookCommands(webhooks: Command): void {
  examples(webhooks, 'countersign webhooks deliveries --owner ann@example.com')
  answers<{ owner?: string }>(
    webhooks
      .command('list')
      .description('list the webhooks of accounts')
      .option(...OWNER),
    async (options) => (await load.webhooks()).runListWebhooks(options),
  )
  answers<DeliveriesOptions>(
    paged(
      webhooks
        .command('deliveries [webhook_id]')
        .description('list the log of a webhook, or what was given up, callbacks too, in an account'),
    ).option('--owner <email>', 'what was given up in the account of this person'),
    async (options, id) => (await load.webhooks()).runListDeliveries(id, options),
  )
  answers(
    webhooks.command('replay <delivery_id>').description('send a delivery again that was sent or given up'),
    async (_options, id) => (await load.webhooks()).runReplayDelivery(id),
  )
}

/** Adds the options of a list that comes in pages. */
function paged(command: Command): Command {
  return command
    .option('--limit <n>', 'number of entries, at most (default: 50)')
    .option('--after <id>', 'only entries after this one, the last of the page before')
}

function addCompletionCommand(program: Command): void {
  const completion = program
    .command('completion <shell>')
    .description(`print a script that completes commands: ${SHELLS.join(', ')}`)
  examples(completion, 'countersign completion bash > /etc/bash_completion.d/countersign')
  answers(completion, (_options, shell) => runCompletion(shell, program))
}

function addSlackCommands(slack: Command): void {
  examples(slack, 'countersign slack manifest --socket')
  answers<{ socket?: boolean }>(
    slack
      .command('manifest')
      .description('print the manifest of the Slack app for this BASE_URL')
      .option('--socket', 'for Socket Mode: no public address, the service connects to Slack'),
    async (options) => (await load.chatApps()).runSlackManifest(options),
  )
}

function addTeamsCommands(teams: Command): void {
  examples(teams, 'countersign teams package --out countersign-teams.zip')
  answers<PackageOptions>(
    teams
      .command('package')
      .description('write the app package for upload to Teams, for this BASE_URL and TEAMS_APP_ID')
      .option('--out <file>', 'file to write', 'countersign-teams.zip')
      .option('--preview', 'use the developer preview of the manifest: commands also after a slash'),
    async (options) => (await load.chatApps()).runTeamsPackage(options),
  )
}

/**
 * `countersign store`: runs the embedded store on DATA_DIR as a process of its own, until SIGINT or SIGTERM. The first line
 * on stdout is its address. @throws ConfigError, StoreLockedError
 */
async function runStore(json: boolean): Promise<void> {
  const { dataDir, warnings } = loadDataDir()
  for (const warning of warnings) process.stderr.write(`${warning}\n`)
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const onReady = ({ uri }: { uri: string }): void => {
    const line = json ? JSON.stringify({ mongodb_uri: uri, data_dir: dataDir }) : `MONGODB_URI=${uri}`
    process.stdout.write(`${line}\n`)
  }
  const { refuseUnwritable, warnOfOthers } = await import('../compose/open-store.ts')
  refuseUnwritable(dataDir)
  warnOfOthers(dataDir, (told) => process.stderr.write(`${told}\n`))
  refuseLostStore({ dataDir, secrets: {} }, true)
  const { runStoreProcess } = await load.store()
  await runStoreProcess({ dataDir, stop: stop.signal, onReady })
}

/** Writes an error to stderr, for people or (with `--json`) as `{error, message}`, and sets the exit code. */
function tellError(error: unknown, json: boolean): void {
  if (error instanceof CommanderError && error.exitCode === 0) return
  const { code, message, exitCode } = asCliError(error)
  setExitCode(exitCode)
  // A group without a command has printed its help.
  const helped = error instanceof CommanderError && error.code === 'commander.help'
  const hint = error instanceof CommanderError && !helped ? '\n(add --help for the options)' : ''
  terminal().stderr.write(json ? `${JSON.stringify({ error: code, message })}\n` : `${message}${hint}\n`)
}

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) return usageError(error.message.replace(/^error: /, ''))
  if (error instanceof Refusal) return new CliError(error.code, error.publicMessage)
  const { code, message } = operatorWords(error)
  return new CliError(code, message)
}

import type { Command } from 'commander'
import type { ExportOptions } from './archive/export.ts'
import type { ImportOptions } from './archive/import.ts'
import { saveMemory } from './archive/save-memory.ts'
import type { BackupOptions } from './backup.ts'
import { answers, examples, JSON_OPTION } from './command.ts'
import type { MonitorOptions } from './log-monitor.ts'
import type { ConfirmOptions, RenewOptions } from './restore.ts'
import type { WitnessOptions } from './witness.ts'

/** Each command loads only the modules it needs, to start quickly. */
const load = {
  backup: () => import('./backup.ts'),
  verifyBackup: () => import('./verify-backup.ts'),
  export: () => frugally(() => import('./archive/export.ts')),
  import: () => frugally(() => import('./archive/import.ts')),
  restore: () => import('./restore.ts'),
  migrate: () => import('./migrate.ts'),
  monitor: () => import('./log-monitor.ts'),
  witness: () => import('./witness.ts'),
}

/** The modules of a command are much of what V8 would grow for. */
function frugally<Module>(load: () => Promise<Module>): Promise<Module> {
  saveMemory()
  return load()
}

/** Adds the commands about the store as a whole, and about logs. */
export function addStoreCommands(program: Command): void {
  addBackupCommands(program.command('backup'))
  addArchiveCommands(program)
  addRestoreCommands(
    program.command('restore').description('after a backup was restored: what is held, and its release'),
  )
  answers<{ dryRun?: boolean }>(
    program
      .command('migrate')
      .description('bring the store to this version, as its first start does')
      .option('--dry-run', 'only say what would change'),
    async (options) => (await load.migrate()).runMigrate(options),
  )
  const log = program.command('log').description('logs that only grow: of this service, and of others')
  addLogCommands(log)
  addMonitorCommand(log)
  addWitnessCommand(program)
}

function addLogCommands(log: Command): void {
  answers(log.command('status').description('how much of the audit trail is in the log'), async () =>
    (await load.restore()).runLogStatus(),
  )
  answers<RenewOptions>(
    log
      .command('renew')
      .description('after a restore: go on under a new name, from the last checkpoint that anybody has')
      .option('--after <file>', 'that checkpoint, - for stdin; none if only the store has one')
      .option('--vkey <key>', 'the key that signed it, if it was made after the backup'),
    async (options) => (await load.restore()).runRenewLog(options),
  )
}

function addBackupCommands(backup: Command): void {
  examples(
    backup,
    'countersign backup --to /backups/today',
    'countersign backup --to /backups --keep 14',
    'countersign backup verify /backups/today',
  )
  answers<BackupOptions>(
    backup
      .argument('[folder]', 'the same as --to')
      .description('copy the embedded store, even while it is in use, and check the copy')
      .option('--to <path>', 'a new folder, with the secrets beside the store; or a new .db file')
      .option(
        '--keep <n>',
        'for schedules: add the time to the name, and remove all but the newest n of these',
      ),
    async (options, folder) => (await load.backup()).runBackup(options, folder),
  )
  answers(
    backup
      .command('verify <path>')
      .description('check a backup: every document, the audit trail, and whether the secrets open it'),
    async (_options, path) => (await load.verifyBackup()).runVerifyBackup(path),
  )
  addDrillCommand(backup)
}

function addDrillCommand(backup: Command): void {
  answers(
    backup
      .command('drill [path]')
      .description('restore a backup, or a new copy, in a temporary folder, and check a service on it'),
    async (_options, path) => (await load.verifyBackup()).runDrill(path),
  )
}

function addArchiveCommands(program: Command): void {
  answers<ExportOptions>(
    program
      .command('export <file>')
      .description('write everything of the store into an archive, even while it is in use')
      .option('--salvage', 'from a damaged embedded store: whatever is whole, with a list of the rest')
      .option('--encrypt', 'encrypt it with a passphrase; it then holds the secrets of the service, too')
      .option(
        '--recipient <key>',
        'encrypt it for the owner of this key (age1…); may be repeated',
        (key: string, others: string[]) => [...others, key],
        [],
      ),
    async (options, file) => (await load.export()).runExport(file, options),
  )
  answers<ImportOptions>(
    program
      .command('import <file>')
      .description(
        'load an archive into an empty store, after checking it; run it again if it was interrupted',
      )
      .option('--identity <file>', 'the key that opens an archive made with --recipient')
      .option('--move', 'the other store is never started again: nothing is held, and sessions stay'),
    async (options, file) => (await load.import()).runImport(file, options),
  )
}

function addRestoreCommands(restore: Command): void {
  examples(restore, 'countersign restore status', 'countersign restore confirm --withdraw-open')
  answers(
    restore.command('status').description('list the requests and approvals that are held after a restore'),
    async () => (await load.restore()).runRestoreStatus(),
  )
  answers<ConfirmOptions>(
    restore
      .command('confirm [request_ids...]')
      .description('lift the hold: everything that is held, or only these requests')
      .option('--withdraw-open', 'withdraw the pending ones instead, so that callers ask again'),
    async (options, ...ids) => (await load.restore()).runConfirmRestore(options, ids),
  )
  answers<{ copiedAt?: string }>(
    restore
      .command('mark')
      .description(
        'say that this store is a copy that another tool made, such as mongodump; before the next start',
      )
      .requiredOption('--copied-at <time>', 'when that copy was begun'),
    async (options) => (await load.restore()).runMarkCopy(options),
  )
}

function addWitnessCommand(program: Command): void {
  const witness = program
    .command('witness')
    .description('cosign the checkpoints of logs that only grow (C2SP tlog-witness), until it is stopped')
    .requiredOption('--policy <file>', 'the logs to witness (C2SP tlog-policy)')
    .requiredOption('--data <folder>', 'folder for the key and the state of this witness; made if missing')
    .option('--name <name>', 'name of a new key, such as witness.example.com')
    .option('--listen <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0: any free one', '3080')
    .option(...JSON_OPTION)
    .action(async () => (await load.witness()).runWitness(witness.optsWithGlobals<WitnessOptions>()))
  examples(witness, 'countersign witness --policy logs.txt --data witness --name witness.example.com')
}

function addMonitorCommand(log: Command): void {
  const monitor = log.command('monitor <url>')
  examples(
    monitor,
    'countersign log monitor https://approvals.example.com --state log.json --policy trust.policy --receipts receipts',
  )
  answers<MonitorOptions>(
    monitor
      .description(
        'check that a log is signed, only grows, is witnessed, and holds the receipts that you have',
      )
      .requiredOption(
        '--state <file>',
        'what the last run saw; made by the first, with a .leaves file beside it',
      )
      .requiredOption('--policy <file>', 'the log and the witnesses that you trust (C2SP tlog-policy)')
      .option('--max-age <hours>', 'fail when the last cosignature is older', '26')
      .option('--receipts <folder>', 'bundles, each of which must be in the log')
      .option('--mine <approver>', 'each decision of this person (usr_…) must be among them, by --audit')
      .option('--audit <file>', 'the audit log of the account, downloaded as NDJSON'),
    async (options, url) => (await load.monitor()).runMonitor(url, options),
  )
}

import type { Command } from 'commander'
import { examples, JSON_OPTION } from './command.ts'
import type { WitnessOptions } from './witness.ts'

/** Each command loads only the modules it needs, to start quickly. */
const load = {
  witness: () => import('./witness.ts'),
}

/** Adds the commands about logs, of this service or of others. */
export function addLogCommands(program: Command): void {
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

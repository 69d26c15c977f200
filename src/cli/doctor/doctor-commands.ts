import type { Command } from 'commander'
import { answers, examples } from '../command.ts'
import type { SmtpOptions } from './smtp.ts'

/** Each command loads only the modules it needs, to start quickly. */
const load = {
  doctor: () => import('./doctor.ts'),
  slack: () => import('./slack.ts'),
  teams: () => import('./teams.ts'),
  smtp: () => import('./smtp.ts'),
}

/** Adds the commands that check an installation. */
export function addDoctorCommands(doctor: Command): void {
  examples(doctor, 'countersign doctor', 'countersign doctor slack --json')
  answers(
    doctor.description('check machine, configuration, store, keys and pages, and say what to do'),
    async () => (await load.doctor()).runDoctor(),
  )
  answers(
    doctor.command('slack').description('check the connection to Slack: tokens, scopes, addresses'),
    async () => (await load.slack()).runSlackDoctor(),
  )
  answers(
    doctor.command('teams').description('check the connection to Teams: secret, keys, addresses'),
    async () => (await load.teams()).runTeamsDoctor(),
  )
  answers<SmtpOptions>(
    doctor
      .command('smtp')
      .description('check the mail relay: TLS, login')
      .option('--to <address>', 'also send a test mail to this address'),
    async (options) => (await load.smtp()).runSmtpDoctor(options),
  )
}

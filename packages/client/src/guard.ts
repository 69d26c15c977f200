import { type Approvals, type AskOptions, ask, type For, insist } from './ask.ts'
import { Invalid } from './errors.ts'
import { canonicalText, copyJson, digest, type Json } from './json.ts'

/** `Args` are those of the guarded function. */
export interface GuardOptions<Args extends readonly unknown[]> extends Omit<AskOptions, 'for'> {
  /** Names the run and this call in it, from the arguments or from where your program keeps it. */
  for: (...args: Args) => For
  /** What a person approves, in words. */
  action: (...args: Args) => string
  /**
   * The particulars shown to the person. Without it all arguments; with it, the hash of all arguments goes along, so that an
   * approval never covers other ones.
   */
  context?: ((...args: Args) => Readonly<Record<string, unknown>>) | undefined
}

/** What a host passes to a tool besides the input, such as a call's id and a signal, stays out of the question. */
export interface ToolOptions<Input, Host extends readonly unknown[]> extends Omit<AskOptions, 'for'> {
  for: (input: Input, ...host: Host) => For
  /** Without it, the tool's name and its input. */
  action?: ((input: Input) => string) | undefined
  context?: ((input: Input) => Readonly<Record<string, unknown>>) | undefined
}

/**
 * Wraps a function so that it runs only after a person approved exactly these arguments, and once for each approval. The
 * arguments are copied at the call; the copy is asked about, compared and passed on.
 * @returns a function that throws the errors of `errors.ts` instead of running
 */
export function guard<Args extends unknown[], Result>(
  peer: Approvals,
  run: (...args: Args) => Result | Promise<Result>,
  options: GuardOptions<Args>,
): (...args: Args) => Promise<Result> {
  for (const name of ['for', 'action'] as const) checkCallback(options?.[name], name)
  return async (...args) => {
    // Left out at the end is left out; `undefined` in the middle is refused.
    while (args.length > 0 && args.at(-1) === undefined) args.pop()
    const held = copyJson(args, 'arguments')
    const copy = () => copyJson(held, 'arguments') as Args
    await approve(peer, options, {
      for: options.for(...copy()),
      action: options.action(...copy()),
      context: options.context?.(...copy()),
      held,
    })
    return await run(...copy())
  }
}

/** The same for the tool of a model's host: `execute` gets the copied input and, untouched, whatever else the host passes. */
export function tool<Input, Host extends unknown[], Result>(
  peer: Approvals,
  name: string,
  execute: (input: Input, ...host: Host) => Result | Promise<Result>,
  options: ToolOptions<Input, Host>,
): (input: Input, ...host: Host) => Promise<Result> {
  checkCallback(options?.for, 'for')
  return async (input, ...host) => {
    const held = copyJson(input, 'input')
    const copy = () => copyJson(held, 'input') as Input
    await approve(peer, options, {
      for: options.for(copy(), ...host),
      action: options.action?.(copy()) ?? describe(name, held),
      context: options.context?.(copy()),
      tool: name,
      held,
    })
    return await execute(copy(), ...host)
  }
}

interface Subject {
  for: For
  action: string
  context: Readonly<Record<string, unknown>> | undefined
  tool?: string
  /** All that the function will be given. */
  held: Json
}

async function approve(peer: Approvals, options: Omit<AskOptions, 'for'>, subject: Subject): Promise<void> {
  const { tool, held, context } = subject
  const shown = context
    ? { ...context, arguments_sha256: await digest(canonicalText(held)) }
    : { ...(tool !== undefined && { tool }), arguments: held }
  const { withinSeconds, signal, ttlSeconds, fields, onAsked } = options
  const how = { withinSeconds, signal, ttlSeconds, fields, onAsked }
  await insist(await ask(peer, { ...how, for: subject.for, action: subject.action, context: shown })).use()
}

/** At most 480 code points, without the control characters that the service refuses. */
function describe(name: string, input: Json): string {
  const points = [...`${name} ${canonicalText(input)}`.replace(/\p{Cc}/gu, ' ')]
  return points.length > 480 ? `${points.slice(0, 480).join('')}…` : points.join('')
}

function checkCallback(value: unknown, name: string): void {
  if (typeof value !== 'function') throw new Invalid(`\`${name}\` must be a function of the arguments.`)
}

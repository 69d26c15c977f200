import { type Approvals, type AskOptions, ask, type For, insist } from './ask.ts'
import type { Attachment } from './attachments.ts'
import { Invalid } from './errors.ts'
import { canonical, copyJson, digest, type Json } from './json.ts'

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
  /** What is too long for the context. Called before the question and again before the use: what differs by then does not run. */
  attachments?: ((...args: Args) => Attachments | Promise<Attachments>) | undefined
}

type Attachments = readonly Attachment[]

/** What a host passes to a tool besides the input, such as a call's id and a signal, stays out of the question. */
export interface ToolOptions<Input, Host extends readonly unknown[]> extends Omit<AskOptions, 'for'> {
  for: (input: Input, ...host: Host) => For
  /** Without it, the tool's name and its input. */
  action?: ((input: Input, ...host: Host) => string) | undefined
  context?: ((input: Input, ...host: Host) => Readonly<Record<string, unknown>>) | undefined
  /** As of `GuardOptions`. */
  attachments?: ((input: Input, ...host: Host) => Attachments | Promise<Attachments>) | undefined
}

/** The options of both, once it is known which of the arguments are asked about. */
type Callbacks<Args extends readonly unknown[]> = Omit<GuardOptions<Args>, 'action'> & {
  action?: ((...args: Args) => string) | undefined
}

/**
 * Wraps a function so that it runs only after a person approved exactly these arguments, and once for each approval. The
 * arguments are copied at the call; the copy is asked about, compared and passed on.
 * @param tool the name of a host's tool, of which only the first argument is the model's: the rest is passed on untouched
 * @returns a function that throws the errors of `errors.ts` instead of running
 */
export function guard<Args extends unknown[], Result>(
  peer: Approvals,
  run: (...args: Args) => Result | Promise<Result>,
  options: Callbacks<Args>,
  tool?: string,
): (...args: Args) => Promise<Result> {
  const callbacks = [options?.for, options?.action ?? (tool && String)]
  if (callbacks.some((callback) => typeof callback !== 'function'))
    throw new Invalid('`for` and `action` must be functions of the arguments.')
  return async (...args) => {
    const host = tool ? args.splice(1) : []
    // Left out at the end is left out; `undefined` in the middle is refused.
    while (args.length > 0 && args.at(-1) === undefined) args.pop()
    const held = copyJson(args, 'arguments')
    const copy = () => [...Object(copyJson(held, '')), ...host] as Args
    const { for: names, action, context, attachments, ...how } = options
    const shown = context?.(...copy())
    const [input] = Object(held)
    const outcome = await ask(peer, {
      ...how,
      for: names(...copy()),
      action: action?.(...copy()) ?? describe(`${tool} ${canonical(input as Json)}`),
      context: shown
        ? { ...shown, arguments_sha256: await digest(held) }
        : { tool, arguments: tool ? input : held },
      attachments: await attachments?.(...copy()),
    })
    await insist(outcome).use({ attachments: await attachments?.(...copy()) })
    return run(...copy())
  }
}

/** At most 480 code points, without the control characters that the service refuses. */
function describe(text: string): string {
  const points = [...text.replace(/\p{Cc}/gu, ' ')]
  return points.slice(0, 480).join('') + (points.length > 480 ? '…' : '')
}

import { shortNameFault } from '../../../src/domain/text-check.ts'
import { type Field, filled, wrong } from '../dom/form.ts'

/** Reads a name as `filled` does, and shows at the field what the service would refuse: before a passkey is asked for. */
export function readName(entry: Field, message: string): string | undefined {
  const name = filled(entry, message)
  const fault = name && shortNameFault(name)
  return fault ? wrong(entry, `It ${fault}.`) : name
}

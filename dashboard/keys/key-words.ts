import { type Child, el } from '../../webauthn-page/kit/dom/element.ts'
import { callerName, callerText } from '../../webauthn-page/kit/show/caller-text.ts'
import type { Policy } from '../settings/settings-shapes.ts'
import type { Key, KeyPolicy } from './key-shapes.ts'

/** A key by name and prefix: after a rotation two keys have the same name. */
export function namedKey({ name, key_prefix }: Pick<Key, 'name' | 'key_prefix'>): Child[] {
  return [callerName(name), ' (', el('code', {}, `${key_prefix}…`), ')']
}

/** The names that more than one of the keys has. */
export function repeatedNames(keys: readonly Pick<Key, 'name'>[]): ReadonlySet<string> {
  const seen = new Set<string>()
  return new Set(keys.flatMap(({ name }) => (seen.size === seen.add(name).size ? [name] : [])))
}

/** A key's rules in the words of the confirmation, with the names of its approvers as far as `people` has them. */
export function rulesWords(
  { source_control, policy }: { source_control?: boolean; policy?: KeyPolicy | null },
  people: Policy['approvers'],
): Child[] {
  const asked = people.filter(({ user_id }) => policy?.approvers?.includes(user_id))
  return [
    ...(source_control === undefined
      ? []
      : [source_control ? ' For a source-control integration.' : ' Not for a source-control integration.']),
    ...(policy === undefined
      ? []
      : [policy === null ? ' No policy of its own.' : ` Own policy: ${policyWords(policy)}.`]),
    ...(asked.length === 0
      ? []
      : [
          ' Asked: ',
          ...asked.flatMap(({ name }, index): Child[] => [index > 0 && ', ', callerText(name)]),
          '.',
        ]),
  ]
}

/** The rules that a key adds to the account's policy, in words. */
export function policyWords({ approvers, quorum, passkey_only, high_impact }: KeyPolicy): string {
  return [
    approvers && (approvers.length === 1 ? 'one approver' : `${approvers.length} of the approvers`),
    quorum && (quorum === 1 ? 'at least one approval' : `at least ${quorum} approvals`),
    passkey_only && 'passkeys only',
    high_impact && 'every request is high impact',
  ]
    .filter(Boolean)
    .join(', ')
}

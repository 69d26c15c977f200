// Generated from openapi.json by `npm run openapi`.

/** What the service takes and answers, by its name in openapi.json. */
export interface Schemas {
  CreateRequest: { action: string; ttl_seconds?: number; context?: { readonly [name: string]: unknown }; requires_individual_decision?: boolean; callback_url?: string; audience?: string; reversibility?: "read_only" | "reversible" | "externally_reversible" | "irreversible"; use_within_seconds?: number; attachments?: readonly (Schemas["Attachment"])[]; notify?: { channel?: string; member?: string }; reuse?: "open"; sandbox_decision?: "approved" | "rejected"; sandbox_auto_decide_seconds?: number }
  Attachment: { name: string; type?: "text" | "diff" | "image" | "file"; text?: string; base64?: string; base?: string }
  CreateRequests: { requests: readonly (Schemas["CreateRequest"])[] }
  "Id.req": string
  ConsumeRequest: { action?: string; context?: { readonly [name: string]: unknown }; context_sha256?: string; attachments_sha256?: readonly (string)[]; refuse_sandbox?: boolean }
  DecisionOptionsRequest: { decision: "approved" | "rejected" }
  ProvenDecision: { decision: "approved" | "rejected"; comment?: string | null; reason?: string; approver?: Schemas["ApproverReference"]; passkey?: Schemas["PasskeyAssertion"]; totp?: string }
  /** Reference of the approver: a keyed hash, the same in every receipt of that person. */
  ApproverReference: string
  /** An `AuthenticationResponseJSON` (WebAuthn Level 3). */
  PasskeyAssertion: { id: string; rawId: string; type: "public-key"; response: { clientDataJSON: string; authenticatorData: string; signature: string; userHandle?: string | "" | null } }
  BatchOptionsRequest: { items: readonly (Schemas["BatchRequestItem"])[] }
  BatchRequestItem: { id: string; decision: "approved" | "rejected" }
  /** `comment` goes with every vote. */
  ProvenBatch: { batch_id: string; comment?: string | null; reason?: string; passkey?: Schemas["PasskeyAssertion"]; totp?: string }
  StartBootstrap: { email: string; client_name: string; code_challenge?: string; code_challenge_method?: "S256" }
  "Id.bst": string
  ConsentRequest: { decision: "approved" | "rejected"; code?: string }
  ProvenConsent: { decision: "approved" | "rejected"; code?: string; passkey?: Schemas["PasskeyAssertion"]; totp?: string }
  CreateApiKey: { name: string; sandbox?: boolean; scopes?: readonly ("approval:create" | "approval:read" | "approval:verify")[]; source_control?: boolean }
  "Id.key": string
  ChangeApiKey: { name?: string; source_control?: boolean; policy?: Schemas["NewKeyPolicy"] | null; proof?: Schemas["Proof"] }
  /** Narrows the policy of the account; null: only that of the account applies. */
  NewKeyPolicy: { approvers?: readonly (string)[]; quorum?: number; passkey_only?: true; high_impact?: true }
  Proof: { passkey?: Schemas["PasskeyAssertion"]; totp?: string }
  NewAccount: { name: string }
  AccountChange: { name?: string; names_in_channels?: boolean; volumes?: Schemas["Volumes"]; reject_reasons?: readonly (string)[] }
  /** What each channel tells of requests. */
  Volumes: { chat: "all" | "high_impact" | "none"; browser: "all" | "high_impact" | "none"; mail: "all" | "high_impact" | "digest" | "none" }
  Withdrawal: { ids: readonly (string)[] }
  AuditType: "approval.created" | "approval.voted" | "approval.same_address" | "approval.approved" | "approval.rejected" | "approval.expired" | "approval.cancelled" | "approval.consumed" | "approval.reminded" | "approval.unheard" | "approval.erased" | "approval.deleted" | "approval.verified" | "webhook.created" | "webhook.deleted" | "webhook.rotated" | "webhook.disabled" | "webhook.enabled" | "webhook.tested" | "delivery.delivered" | "delivery.failed" | "delivery.exhausted" | "delivery.dropped" | "delivery.replayed" | "card.posted" | "card.unreachable" | "card.exhausted" | "chat.linked" | "chat.unlinked" | "chat.browser_known" | "chat.installed" | "chat.uninstalled" | "chat.unavailable" | "chat.restored" | "channel.added" | "channel.removed" | "notifications.tested" | "push.device_added" | "push.device_removed" | "push.sent" | "push.failed" | "key.created" | "key.revoked" | "key.secret_read" | "signing_key.created" | "signing_key.revoked" | "push_key.created" | "bootstrap.requested" | "bootstrap.approved" | "bootstrap.rejected" | "bootstrap.expired" | "bootstrap.collected" | "account.changed" | "policy.changed" | "key.changed" | "member.invited" | "member.joined" | "member.declined" | "member.changed" | "member.removed" | "member.left" | "member.recovery_offered" | "member.recovery_ended" | "member.recovered" | "delegate.set" | "delegate.removed" | "user.changed" | "user.erased" | "user.invited" | "user.enrolled" | "user.reset" | "session.created" | "session.ended" | "factor.passkey_added" | "factor.passkey_removed" | "factor.passkey_suspended" | "factor.passkey_counter_fell" | "factor.totp_added" | "factor.totp_removed" | "factor.totp_locked" | "factor.totp_disabled" | "factor.backup_codes_renewed" | "factor.backup_code_used" | "internal_token.used" | "store.restored" | "store.released" | "approval.released" | "audit.erased" | "log.rollback_detected" | "log.renewed"
  NewMember: { email: string; name?: string; role: "approver" | "auditor"; proof?: Schemas["Proof"] }
  "Id.usr": string
  MemberRole: { role: "approver" | "auditor"; proof?: Schemas["Proof"] }
  FreshProof: { proof?: Schemas["Proof"] }
  SetPolicy: { approvers: readonly (string)[]; quorum: number; passkey_only: boolean; high_impact: boolean; confirmed_only?: boolean; authenticators?: Schemas["Authenticators"] | null; reminders?: readonly (number)[]; proof?: Schemas["Proof"] }
  /** Only passkeys whose authenticator proved its model when it was registered, or of these only the listed models, by AAGUID. Codes then do not count. Absent: any passkey. */
  Authenticators: "attested" | readonly (string)[]
  "Id.acc": string
  Acceptance: { token: string }
  CreateWebhook: { url: string; events?: readonly (Schemas["Subscribable"])[] }
  Subscribable: "approval.created" | "approval.approved" | "approval.rejected" | "approval.expired" | "approval.reminded" | "bootstrap.requested" | "bootstrap.approved" | "key.created" | "key.revoked" | "delivery.exhausted" | "chat.unavailable" | "chat.restored"
  "Id.whk": string
  "Id.dlv": string
  PasskeySignIn: { credential: Schemas["PasskeyAssertion"] }
  CodeSignIn: { email: string; code: string }
  "Id.ses": string
  EnrollmentLookup: { token: string }
  EnrollmentOptions: { token: string; email?: string; name?: string; account_name?: string }
  PasskeyEnrollment: { token: string; passkey_name: string; credential: Schemas["PasskeyRegistration"] }
  /** A `RegistrationResponseJSON` (WebAuthn Level 3). */
  PasskeyRegistration: { id: string; rawId: string; type: "public-key"; response: { clientDataJSON: string; attestationObject: string; transports?: readonly (string)[] | null } }
  TotpEnrollment: { token: string; code: string }
  StepUp: { operation: "session.prove" | "passkey.add" | "passkey.remove" | "totp.add" | "totp.remove" | "backup_codes.renew" | "chat.link" | "chat.channel" | "policy.change" | "key.change" | "member.invite" | "member.change" | "member.recover" | "delegate.change"; target?: string }
  NewPasskeyOptions: { proof?: Schemas["Proof"]; attested?: boolean }
  NewPasskey: { name: string; credential: Schemas["PasskeyRegistration"] }
  "Id.pky": string
  Code: { code: string }
  ChangeProfile: { name?: string; default_ttl_seconds?: number; next_steps_hidden?: boolean }
  SetDelegate: { user_id: string; starts_at: string; ends_at: string; proof?: Schemas["Proof"] }
  LookAtChatLink: { token: string }
  UseChatLink: { token: string; proof?: Schemas["Proof"] }
  RemoveChatIdentity: { key: string }
  RemoveChatChannel: { platform: "slack" | "teams"; tenant: string; channel: string }
  RemoveChatApp: { platform: "slack"; tenant: string }
  NewPushDevice: { subscription: { endpoint: string; keys: { p256dh: string; auth: string } }; name: string }
  "Id.psd": string
  ChangeHearing: { volumes?: Schemas["Volumes"] | null; quiet_hours?: Schemas["QuietHours"] | null }
  /** Browsers and mails keep still then, and tell what still waits afterwards. */
  QuietHours: { from: string; to: string; time_zone: string }
  AddressCode: { code: string }
  "Id.evt": string
  CallbackBody: { request_id: Schemas["Id.req"]; decision: "approved" | "rejected"; decided_at: Schemas["Time"]; delegate?: Schemas["ApproverReference"]; signed_receipt: Schemas["SignedReceipt"]; sandbox?: true }
  Time: string
  /** The proof that a person decided; the HMAC of the callback is not. Check it offline, with `countersign verify` or any Ed25519 library, before you act. */
  SignedReceipt: { decision_id: Schemas["Id.dec"]; signature: string; public_key_id: Schemas["SigningKeyId"]; canonical_payload: string; comment: string | null }
  "Id.dec": string
  /** Id of the signing key in `/.well-known/jwks.json` (RFC 7638 thumbprint). */
  SigningKeyId: string
  ApprovalCreatedEvent: { id: Schemas["Id.evt"]; type: "approval.created"; created_at: Schemas["Time"]; data: { request_id: Schemas["Id.req"]; action: string; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; requires_individual_decision: boolean; sandbox?: true } }
  ApprovalApprovedEvent: { id: Schemas["Id.evt"]; type: "approval.approved"; created_at: Schemas["Time"]; data: Schemas["CallbackBody"] }
  ApprovalRejectedEvent: { id: Schemas["Id.evt"]; type: "approval.rejected"; created_at: Schemas["Time"]; data: Schemas["CallbackBody"] }
  ApprovalExpiredEvent: { id: Schemas["Id.evt"]; type: "approval.expired"; created_at: Schemas["Time"]; data: { request_id: Schemas["Id.req"]; expires_at: Schemas["Time"]; cancelled?: true; sandbox?: true } }
  ApprovalRemindedEvent: { id: Schemas["Id.evt"]; type: "approval.reminded"; created_at: Schemas["Time"]; data: { request_id: Schemas["Id.req"]; automatic?: true; sandbox?: true } }
  BootstrapRequestedEvent: { id: Schemas["Id.evt"]; type: "bootstrap.requested"; created_at: Schemas["Time"]; data: { consent_id: Schemas["Id.bst"]; unverified_client_name: string; scopes: readonly ("approval:create" | "approval:read" | "approval:verify")[]; requested_from: string; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; review_url: string } }
  BootstrapApprovedEvent: { id: Schemas["Id.evt"]; type: "bootstrap.approved"; created_at: Schemas["Time"]; data: { consent_id: Schemas["Id.bst"]; unverified_client_name: string; scopes: readonly ("approval:create" | "approval:read" | "approval:verify")[]; approved_at: Schemas["Time"] } }
  KeyCreatedEvent: { id: Schemas["Id.evt"]; type: "key.created"; created_at: Schemas["Time"]; data: { key_id: Schemas["Id.key"]; name: string; key_prefix: string; sandbox: boolean; consent_id?: Schemas["Id.bst"]; collected_from?: string } }
  KeyRevokedEvent: { id: Schemas["Id.evt"]; type: "key.revoked"; created_at: Schemas["Time"]; data: { key_id: Schemas["Id.key"]; name: string; key_prefix: string; sandbox: boolean } }
  DeliveryExhaustedEvent: { id: Schemas["Id.evt"]; type: "delivery.exhausted"; created_at: Schemas["Time"]; data: { delivery_id: Schemas["Id.dlv"]; target: "callback" | "webhook"; webhook_id?: Schemas["Id.whk"]; request_id?: Schemas["Id.req"]; event_id: Schemas["Id.evt"]; event_type: Schemas["SentType"]; attempts: number; last_outcome: string } }
  SentType: "approval.created" | "approval.approved" | "approval.rejected" | "approval.expired" | "approval.reminded" | "bootstrap.requested" | "bootstrap.approved" | "key.created" | "key.revoked" | "delivery.exhausted" | "chat.unavailable" | "chat.restored" | "webhook.test" | "callback"
  ChatUnavailableEvent: { id: Schemas["Id.evt"]; type: "chat.unavailable"; created_at: Schemas["Time"]; data: { platform: "slack" | "teams"; tenant: string | null; channel?: string; reason: string; since: Schemas["Time"] } }
  ChatRestoredEvent: { id: Schemas["Id.evt"]; type: "chat.restored"; created_at: Schemas["Time"]; data: { platform: "slack" | "teams"; tenant: string | null; channel?: string; reason: string; since: Schemas["Time"]; restored_at: Schemas["Time"] } }
  WebhookTestEvent: { id: Schemas["Id.evt"]; type: "webhook.test"; created_at: Schemas["Time"]; data: { webhook_id: Schemas["Id.whk"] } }
  /** Answer to a live key; `metadata` is the supplied `context`. */
  CreatedRequest: { id: Schemas["Id.req"]; status: "pending" | "approved"; action: string; metadata: Schemas["Context"]; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; review_url: Schemas["ReviewUrl"]; reused?: true; approval?: Schemas["Approval"]; ignored_fields?: Schemas["IgnoredFields"] }
  /** The structured data supplied at creation. */
  Context: { readonly [name: string]: unknown }
  /** The page on which approvers read the request and decide. */
  ReviewUrl: string
  /** A request; its fields depend on its status. */
  Approval: Schemas["PendingApproval"] | Schemas["ApprovedApproval"] | Schemas["RejectedApproval"] | Schemas["ExpiredApproval"]
  /** There is no decision yet. */
  PendingApproval: { id: Schemas["Id.req"]; action: string; status: "pending"; context: Schemas["Context"]; attachments?: Schemas["Attachments"]; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; review_url: Schemas["ReviewUrl"]; use_within_seconds?: Schemas["UseWithin"]; notify?: Schemas["Notify"]; sandbox?: Schemas["SandboxMark"]; erased_at?: Schemas["Time"] }
  Attachments: readonly ({ name: string; kind: "text" | "diff" | "image" | "file"; sha256: string; bytes: number; base?: string })[]
  /** Seconds from the decision in which an approval can be used. */
  UseWithin: number
  /** As it was sent. */
  Notify: { channel: string } | { member: string }
  /** Only for requests made with a sandbox key. */
  SandboxMark: true
  /** Approved, with its receipt. */
  ApprovedApproval: { id: Schemas["Id.req"]; action: string; status: "approved"; context: Schemas["Context"]; attachments?: Schemas["Attachments"]; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; decision: Schemas["Decision"]; use_within_seconds?: Schemas["UseWithin"]; consumed_at?: Schemas["Time"]; notify?: Schemas["Notify"]; sandbox?: Schemas["SandboxMark"]; erased_at?: Schemas["Time"] }
  /** A signed receipt; check it with `countersign verify` or any Ed25519 library. */
  Decision: { id: Schemas["Id.dec"]; decision: "approved" | "rejected"; method: Schemas["Method"]; signed_payload: string; signature: string; public_key_id: Schemas["SigningKeyId"]; decided_at: Schemas["Time"]; approver: Schemas["ApproverReference"]; delegate?: Schemas["ApproverReference"]; comment: string | null; intent?: string; votes?: readonly (Schemas["SignedVote"])[] }
  /** How presence was proved; `sandbox`: no person decided. */
  Method: "passkey" | "totp" | "sandbox"
  /** One vote of several. Signed, and a receipt of its own, if it agrees with the outcome. Approvals of a request that was rejected are not signed and have no `signed_payload`, `signature` and `public_key_id`: such a receipt would pass for a permission wherever only its signature is checked. */
  SignedVote: { id: Schemas["Id.dec"]; decision: "approved" | "rejected"; method: Schemas["Method"]; signed_payload?: string; signature?: string; public_key_id?: Schemas["SigningKeyId"]; decided_at: Schemas["Time"]; approver: Schemas["ApproverReference"]; delegate?: Schemas["ApproverReference"]; comment: string | null; intent?: string }
  /** Rejected, with its receipt; no context and no times. */
  RejectedApproval: { id: Schemas["Id.req"]; action: string; status: "rejected"; decision: Schemas["Decision"]; notify?: Schemas["Notify"]; sandbox?: Schemas["SandboxMark"]; erased_at?: Schemas["Time"] }
  /** The request expired or was withdrawn: nothing was signed, so there is no `decision`. */
  ExpiredApproval: { id: Schemas["Id.req"]; action: string; status: "expired"; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; cancelled?: true; notify?: Schemas["Notify"]; sandbox?: Schemas["SandboxMark"]; erased_at?: Schemas["Time"] }
  /** Unknown fields that were sent; absent if there are none. A name that looks like a known field is refused instead. */
  IgnoredFields: readonly (string)[]
  /** Answer to a sandbox key. `request_id` is the `id`. */
  CreatedSandboxRequest: { id: Schemas["Id.req"]; request_id: Schemas["Id.req"]; status: "pending" | "approved"; sandbox: Schemas["SandboxMark"]; verify_url: string; review_url: Schemas["ReviewUrl"]; reused?: true; approval?: Schemas["Approval"]; ignored_fields?: Schemas["IgnoredFields"] }
  /** Every refusal has this form. */
  Error: { error: string; message: string; field?: string; detail?: string; reason?: string; scope?: string; status?: string; ids?: readonly (string)[]; retry_after?: number; request_id?: string }
  CreatedRequests: { data: readonly (Schemas["CreatedRequest"] | Schemas["CreatedSandboxRequest"])[]; ignored_fields?: Schemas["IgnoredFields"] }
  ApprovalList: { data: readonly (Schemas["Approval"])[]; next_cursor: Schemas["NextCursor"] }
  /** The `cursor` of the next page; null on the last one. */
  NextCursor: string | null
  WaitedApprovals: { data: readonly (Schemas["Approval"])[] }
  Reminder: { ok: true; request_id: Schemas["Id.req"]; push_sent: boolean; push_accepted: boolean; reminded_at: Schemas["Time"]; sandbox?: Schemas["SandboxMark"] }
  /** In production, do not proceed if `sandbox` is present. */
  ConsumedApproval: { request_id: Schemas["Id.req"]; status: "approved"; decision_id: Schemas["Id.dec"]; consumed_at: Schemas["Time"]; sandbox?: Schemas["SandboxMark"]; ignored_fields?: Schemas["IgnoredFields"] }
  ApprovalToken: { request_id: Schemas["Id.req"]; decision_id: Schemas["Id.dec"]; token: string; expires_at: Schemas["Time"]; ignored_fields?: Schemas["IgnoredFields"] }
  Verdict: Schemas["ValidReceipt"] | Schemas["InvalidReceipt"]
  ValidReceipt: { valid: true; decision: "approved" | "rejected"; method: Schemas["Method"]; delegate?: Schemas["ApproverReference"]; verified_at: Schemas["Time"]; public_key: string; public_key_id: Schemas["SigningKeyId"]; signature: string; payload: Schemas["Payload"]; sandbox?: Schemas["SandboxMark"]; caution?: string; erased_at?: Schemas["Time"] }
  /** The signed payload; `sandbox` is inside the signed bytes. */
  Payload: { v: 1; rid: Schemas["Id.req"]; did: Schemas["Id.dec"]; approver: Schemas["ApproverReference"]; action: string; decision: "approved" | "rejected"; method: Schemas["Method"]; ts: number; exp: number; nonce: string; sandbox?: Schemas["SandboxMark"] }
  InvalidReceipt: { valid: false; error: string; message: string; status?: "pending" | "approved" | "rejected" | "expired" }
  /** Everything that proves one decision, as RFC 8785 JSON. */
  ReceiptBundle: { format: "countersign.receipt/v1"; receipt: { did: Schemas["Id.dec"]; ts: number; signature: string; public_key_id: Schemas["SigningKeyId"] }; intent: string; passkey?: { key: string; client_data?: string; authenticator_data: string; signature: string; batch?: string }; totp?: { checked_by: "service" }; enrolment?: { record: string; proof: string; subject: { aaguid: string | null; approver: Schemas["ApproverReference"]; attestation: string | null; credential_id: string; public_key: string } }; context?: string; votes?: readonly ({ receipt: { did: Schemas["Id.dec"]; ts: number; signature: string; public_key_id: Schemas["SigningKeyId"] }; intent: string; passkey?: { key: string; client_data?: string; authenticator_data: string; signature: string; batch?: string }; totp?: { checked_by: "service" }; enrolment?: { record: string; proof: string; subject: { aaguid: string | null; approver: Schemas["ApproverReference"]; attestation: string | null; credential_id: string; public_key: string } } })[]; log?: { record: string; proof: string } }
  /** RFC 7517 key set. Old keys stay in it, so old receipts can always be verified. */
  JsonWebKeySet: { keys: readonly ({ kty: "OKP"; crv: "Ed25519"; x: string; use: "sig"; alg: "EdDSA"; kid: Schemas["SigningKeyId"]; purpose: "decision" | "decision-sandbox" | "token"; nbf: number; exp?: number; revoked_at?: number })[]; restores?: readonly ({ copied_at: number; restored_at: number })[] }
  TransparencyLog: { origin: string; vkey: string; url: string; witnesses: readonly ({ vkey: string; url: string })[]; former: readonly ({ origin: string; vkey?: string; url: string; checkpoint: string })[] }
  PendingRequests: { data: readonly (Schemas["PendingRequest"])[]; next_cursor: Schemas["NextCursor"] }
  PendingRequest: { id: Schemas["Id.req"]; action: string; high_impact: boolean; account_id: Schemas["Id.acc"]; requested_by: { key_name: string; account_name: string; key_revoked?: true }; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; on_behalf_of: Schemas["Principal"] | null; quorum: Schemas["Quorum"]; attachments?: number; may_decide: boolean; batch?: Schemas["Id.bat"]; held?: true; methods: readonly ("passkey" | "totp")[]; kind?: string; opened?: true }
  /** The approver for whom the signed-in person would decide, as their delegate. */
  Principal: { name: string; approver: Schemas["ApproverReference"]; delegate: Schemas["ApproverReference"] }
  /** How many must approve, and how many have. */
  Quorum: { needed: number; approved: number }
  "Id.bat": string
  /** A request as one of its approvers sees it. */
  Review: { id: Schemas["Id.req"]; status: "pending" | "approved" | "rejected" | "expired"; cancelled?: true; action: string; context: Schemas["Context"]; context_json: string; context_sha256: string; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; server_time: Schemas["Time"]; high_impact: boolean; sandbox?: Schemas["SandboxMark"]; requested_by: { key_name: string; account_name: string; key_revoked?: true }; requester: { key: Schemas["Id.key"]; account: Schemas["Id.acc"] }; policy: { approvers: readonly (Schemas["ApproverReference"])[]; passkey_only: boolean; confirmed_only?: true; authenticators?: Schemas["Authenticators"] }; audience?: string; reversibility?: "read_only" | "reversible" | "externally_reversible" | "irreversible"; use_within_seconds?: Schemas["UseWithin"]; attachments?: Schemas["StatedAttachments"]; quorum: Schemas["Quorum"]; approver: Schemas["ApproverReference"] | null; on_behalf_of: Schemas["Principal"] | null; may_decide: boolean; why_not?: "not_found" | "not_pending" | "sandbox_request" | "held_after_restore" | "already_voted" | "not_confirmed" | "passkey_required" | "authenticator_refused" | "method_not_enrolled"; held?: true; methods: readonly ("passkey" | "totp")[]; outcome_goes_to?: { kind: "channel" | "member"; name: string; platform?: "slack" | "teams" }; not_reachable: readonly (Schemas["ApproverReference"])[]; same_address?: true; votes: readonly (Schemas["ReviewedVote"])[]; seen: readonly ({ approver: Schemas["ApproverReference"]; at: Schemas["Time"] })[]; decision?: Schemas["Decision"]; verify_qr?: string; names: Schemas["Names"] }
  StatedAttachments: readonly ({ name: string; kind: "text" | "diff" | "image" | "file"; sha256: string; bytes: number; base?: string; opened: boolean })[]
  ReviewedVote: { approver: Schemas["ApproverReference"]; delegate?: Schemas["ApproverReference"]; decision: "approved" | "rejected"; method: Schemas["Method"]; at: Schemas["Time"]; mine: boolean; comment: string | null }
  /** Current names of the people of the account, by reference; only for members of the account. Receipts contain references only. */
  Names: { readonly [name: string]: string }
  DecisionProof: { log: "waiting" | "logged" | "witnessed" | "stopped" | "before_log"; origin?: string; index?: number; size?: number; witnesses: readonly ({ name: string; at: Schemas["Time"] })[]; awaited: readonly (string)[]; bundle?: string }
  SimilarRequests: { precedents?: Schemas["Precedents"]; data: readonly ({ id: Schemas["Id.req"]; status: "pending" | "approved" | "rejected" | "expired"; cancelled?: true; action: string; created_at: Schemas["Time"]; decision?: { method: Schemas["Method"]; approver: Schemas["ApproverReference"]; decided_at: Schemas["Time"] }; differs: readonly ({ field: string; before?: string; now?: string })[]; more: number })[]; reject_reasons: readonly (string)[]; names: Schemas["Names"] }
  /** What people decided about the last 50 requests of this key and kind. Absent: nothing is known. Without `last`: this is the first of its tool. */
  Precedents: { by: "tool" | "fields"; own: boolean; approved: number; rejected: number; at_least: boolean; last?: { decision: "approved" | "rejected"; decided_at: Schemas["Time"] }; departures: readonly ({ field: string; how: "times" | "changed" | "missing" | "added"; times?: number; usual?: number })[]; more: number }
  /** `options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `intent`. */
  DecisionOptions: { intent: Schemas["Intent"]; options: Schemas["PublicKeyCredentialRequestOptions"] }
  /** The statement that the person consents to. Compare it with what you show. */
  Intent: { typ: string; aud: string; rid: Schemas["Id.req"]; decision: "approved" | "rejected"; approver: Schemas["ApproverReference"]; delegate?: Schemas["ApproverReference"]; action: string; context_sha256: string; request_created_at: Schemas["Time"]; exp: number; high_impact: boolean; requester: { key: Schemas["Id.key"]; name: string; account: Schemas["Id.acc"] }; policy_sha256: string; quorum: number; audience?: string; reversibility?: "read_only" | "reversible" | "externally_reversible" | "irreversible"; use_within_seconds?: Schemas["UseWithin"]; attachments?: Schemas["StatedAttachments"]; salt: string }
  /** Pass it to `PublicKeyCredential.parseRequestOptionsFromJSON` (WebAuthn Level 3). */
  PublicKeyCredentialRequestOptions: { challenge: string; timeout: number; rpId: string; allowCredentials: readonly ({ id: string; type: "public-key"; transports?: readonly (string)[] })[]; userVerification: "required" }
  Decided: { id: Schemas["Id.req"]; status: "pending" | "approved" | "rejected" | "expired"; vote: Schemas["Vote"]; decision?: Schemas["Decision"] }
  Vote: { approver: Schemas["ApproverReference"]; delegate?: Schemas["ApproverReference"]; decision: "approved" | "rejected"; method: Schemas["Method"]; at: Schemas["Time"] }
  /** `options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `batch`. */
  BatchOptions: { batch_id: string; batch: Schemas["BatchIntent"]; intents: readonly (Schemas["Intent"])[]; methods: readonly ("passkey" | "totp")[]; options?: Schemas["PublicKeyCredentialRequestOptions"] }
  /** The statement that the person consents to: every request by the hash of its intent. Compare each one. */
  BatchIntent: { typ: "human-approval/batch/v1"; aud: string; approver: Schemas["ApproverReference"]; items: readonly ({ rid: Schemas["Id.req"]; decision: "approved" | "rejected"; intent_sha256: string })[]; salt: string }
  BatchDecided: { data: readonly (Schemas["Decided"] | Schemas["BatchLost"])[] }
  /** Nothing was recorded for this request: another decision came first while this one was being written, it cannot be approved any more, or the person’s factors were changed; see `error`. */
  BatchLost: { id: Schemas["Id.req"]; status: "pending" | "approved" | "rejected" | "expired"; error: { code: Schemas["ErrorCode"]; message: string } }
  /** Stable codes to branch on; the examples have their sentences. More may be added: treat an unknown one by its status. */
  ErrorCode: "invalid_field" | "invalid_json" | "unsupported_media_type" | "payload_too_large" | "sandbox_fields_require_sandbox_key" | "approver_email_required" | "approver_email_not_allowed" | "invalid or missing API key" | "not_signed_in" | "insufficient_scope" | "csrf_refused" | "chat_signature_refused" | "not_found" | "approver_not_found" | "not_pending" | "not_approved" | "no_receipt" | "before_log" | "receipt_erased" | "already_consumed" | "approval_lapsed" | "token_needs_audience" | "sandbox_approval" | "held_after_restore" | "mismatch" | "no_eligible_approver" | "notify_not_linked" | "idempotency_mismatch" | "rate limit exceeded" | "remind_rate_limited" | "too_many_pending" | "attachment_quota_exceeded" | "quota_exceeded" | "too_many_waits" | "sandbox_request" | "already_voted" | "vote_key_revoked" | "passkey_required" | "method_not_enrolled" | "batch_changed" | "challenge_invalid" | "passkey_refused" | "passkey_suspended" | "user_handle_missing" | "not_confirmed" | "authenticator_refused" | "totp_refused" | "totp_locked" | "totp_disabled" | "sign_in_failed" | "unknown_browser" | "enrollment_invalid" | "enrollment_early" | "email_taken" | "proof_required" | "last_factor" | "passkey_exists" | "identity_taken" | "identity_limit" | "chat_link_invalid" | "chat_link_not_yours" | "member_exists" | "recovery_refused" | "recovery_declined" | "member_limit" | "channel_unreachable" | "channel_limit" | "push_device_limit" | "mail_off" | "mail_confirmed" | "mail_code_limit" | "mail_code_refused" | "passkey_limit" | "totp_exists" | "totp_not_started" | "slow_down" | "code_verifier_refused" | "wrong_matching_code" | "no_own_account" | "own_account_exists" | "key_limit" | "webhook_limit" | "webhook_rotated" | "webhook_gone" | "delivery_in_progress" | "test_in_progress" | "install_cancelled" | "install_state_invalid" | "install_limit" | "install_failed" | "chat_token_refused" | "chat_sender_refused" | "chat_body_too_large" | "chat_keys_unavailable" | "storage_unavailable" | "not_logged" | "log_rolled_back" | "unavailable" | "internal_error"
  BootstrapStarted: { bootstrap_id: string; status: "pending"; message: string; expires_at: Schemas["Time"]; interval: number; ignored_fields?: Schemas["IgnoredFields"] }
  BootstrapStatus: Schemas["BootstrapUndecided"] | Schemas["BootstrapApproved"] | Schemas["BootstrapExpired"]
  BootstrapUndecided: { status: "pending" | "rejected" }
  BootstrapApproved: { status: "approved"; api_key: string }
  BootstrapExpired: { status: "expired"; reason: "not_answered" | "not_collected" | "already_collected"; message: string }
  WaitingConsents: { data: readonly (Schemas["WaitingConsent"])[]; next_cursor: Schemas["NextCursor"] }
  WaitingConsent: { id: Schemas["Id.bst"]; client_name: string; requester: { address: string; user_agent: string }; scopes: readonly ("approval:create" | "approval:read" | "approval:verify")[]; created_at: Schemas["Time"]; expires_at: Schemas["Time"] }
  Consent: { id: Schemas["Id.bst"]; client_name: string; requester: { address: string; user_agent: string }; scopes: readonly ("approval:create" | "approval:read" | "approval:verify")[]; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; status: "pending" | "approved" | "rejected" | "expired"; server_time: Schemas["Time"]; tries_left: number; methods: readonly ("passkey" | "totp")[]; consent?: { decision: "approved" | "rejected"; method: "passkey" | "totp"; at: Schemas["Time"] }; collect_by?: Schemas["Time"]; collected?: { at: Schemas["Time"]; address?: string; key_id?: Schemas["Id.key"] } }
  /** `options.challenge` is the base64url SHA-256 of the RFC 8785 JSON of `intent`. */
  ConsentOptions: { intent: Schemas["ConsentIntent"]; options: Schemas["PublicKeyCredentialRequestOptions"] }
  /** The statement that the owner consents to. Compare it with what you show. */
  ConsentIntent: { typ: "human-approval/bootstrap/v1"; aud: string; bst: Schemas["Id.bst"]; decision: "approved" | "rejected"; approver: Schemas["ApproverReference"]; client_name: string; scopes: string; code: string | null; requested_at: Schemas["Time"]; exp: number; salt: string }
  Consented: { id: Schemas["Id.bst"]; status: "pending" | "approved" | "rejected" | "expired" }
  ApiKeyList: { data: readonly (Schemas["ApiKey"])[]; next_cursor: Schemas["NextCursor"] }
  ApiKey: { id: Schemas["Id.key"]; name: string; key_prefix: string; sandbox: boolean; scopes: readonly ("approval:create" | "approval:read" | "approval:verify")[]; source_control: boolean; policy: Schemas["KeyPolicy"] | null; created_at: Schemas["Time"]; last_used_at: Schemas["Time"] | null; revoked_at: Schemas["Time"] | null }
  /** The restrictions that the key adds to the policy of the account. */
  KeyPolicy: { approvers?: readonly (Schemas["Id.usr"])[]; quorum?: number; passkey_only?: true; high_impact?: true }
  CreatedApiKey: { raw_key: string; key: Schemas["ApiKey"]; ignored_fields?: Schemas["IgnoredFields"] }
  ChangedApiKey: { key: Schemas["ApiKey"]; ignored_fields?: Schemas["IgnoredFields"] }
  RevokedApiKey: { ok: true; key: Schemas["ApiKey"] }
  WebhookSecretAnswer: Schemas["WebhookSecret"] | Schemas["WebhookSecrets"]
  /** Answer to an API key: the secret of this key. */
  WebhookSecret: { webhook_signing_secret: string }
  /** Answer to a session: all keys that are not revoked. */
  WebhookSecrets: { keys: readonly ({ id: Schemas["Id.key"]; name: string; key_prefix: string; webhook_signing_secret: string })[] }
  Account: { id: Schemas["Id.acc"]; name: string; role: "owner" | "approver" | "auditor"; owner: { id: Schemas["Id.usr"]; name: string; email: string; approver: Schemas["ApproverReference"] }; created_at: Schemas["Time"]; names_in_channels: boolean; volumes: Schemas["VolumesOutput"]; reject_reasons: readonly (string)[]; quota: { limit: number; used: number; month: string; resets_at: Schemas["Time"] }; policy?: Schemas["Policy"] }
  Policy: { approvers: readonly ({ user_id: Schemas["Id.usr"]; email: string; name: string; approver: Schemas["ApproverReference"]; has_passkey: boolean; has_totp: boolean; confirmed: boolean; eligible: boolean })[]; quorum: number; passkey_only: boolean; high_impact: boolean; confirmed_only: boolean; authenticators?: Schemas["Authenticators"]; can_attest?: true; reminders: readonly (number)[]; reachable: boolean; ignored_fields?: Schemas["IgnoredFields"] }
  History: { data: readonly (Schemas["HistoryRow"])[]; next_cursor: Schemas["NextCursor"]; searched_to?: Schemas["Time"]; names: Schemas["Names"] }
  HistoryRow: { id: Schemas["Id.req"]; status: "pending" | "approved" | "rejected" | "expired"; cancelled?: true; action: string; high_impact: boolean; sandbox?: Schemas["SandboxMark"]; requested_by: { key_name: string; account_name: string }; created_at: Schemas["Time"]; expires_at: Schemas["Time"]; decided_at?: Schemas["Time"]; decision?: { id: Schemas["Id.dec"]; decision: "approved" | "rejected"; method: Schemas["Method"]; approver: Schemas["ApproverReference"]; delegate?: Schemas["ApproverReference"] }; quorum: Schemas["Quorum"] }
  Withdrawn: { withdrawn: readonly (Schemas["Id.req"])[] }
  Overview: { days: readonly ({ day: string; approved: number; rejected: number; expired: number; withdrawn: number; pending: number })[]; total: Schemas["Endings"]; seconds_to_decide?: { median: number; p90: number }; oldest_pending?: { id: Schemas["Id.req"]; created_at: Schemas["Time"] }; keys: readonly ({ id: Schemas["Id.key"]; name?: string; approved: number; rejected: number; expired: number; withdrawn: number; pending: number })[]; approvers: readonly ({ id: Schemas["Id.usr"]; name?: string; approved: number; rejected: number; median_look?: number; looks: number; quick: number; notes: readonly ("quick" | "never_rejects")[] })[]; reasons: readonly ({ reason: string; times: number })[]; dead_letters: number; chats_in_trouble: number }
  /** Live requests by how they ended; withdrawn ones are apart from expired. */
  Endings: { approved: number; rejected: number; expired: number; withdrawn: number; pending: number }
  AuditList: { data: readonly (Schemas["AuditRecord"])[]; next_cursor: Schemas["NextCursor"]; searched_to?: Schemas["Time"]; names: { readonly [name: string]: string }; actions: { readonly [name: string]: string } }
  AuditRecord: { seq: number; id: Schemas["Id.evt"]; type: Schemas["AuditType"]; at: Schemas["Time"]; actor: Schemas["AuditActor"]; subject: string; detail: { readonly [name: string]: string | number | boolean }; hash: string }
  AuditActor: { kind: "api_key" | "internal" | "user" | "chat" | "cli" | "service" | "public"; id?: string; address?: string }
  Members: { data: readonly (Schemas["Member"])[]; next_cursor: Schemas["NextCursor"] }
  /** While the person is only invited, `name` is the one that the owner entered, `approver` is null and the factors are false, even if the person is enrolled already. */
  Member: { user_id: Schemas["Id.usr"]; email: string; name: string; approver: Schemas["ApproverReference"] | null; role: "owner" | "approver" | "auditor"; state: "active" | "invited"; has_passkey: boolean; has_totp: boolean; passkeys?: readonly ({ device_bound?: true; aaguid?: string; authenticator?: string; attested?: true })[]; invited_at: Schemas["Time"] | null; joined_at: Schemas["Time"] | null; recovery?: { opens_at: Schemas["Time"]; expires_at: Schemas["Time"]; refused: boolean } }
  InvitedMember: { member: Schemas["Member"]; link: Schemas["MemberLink"] }
  MemberLink: { url: string; expires_at: Schemas["Time"] }
  ChangedMember: { member: Schemas["Member"] }
  NewMemberLink: { link: Schemas["MemberLink"] }
  Ok: { ok: true }
  MemberRecovery: { link: { url: string; expires_at: Schemas["Time"]; opens_at: Schemas["Time"] } }
  WebhookList: { data: readonly (Schemas["ListedWebhook"])[]; next_cursor: Schemas["NextCursor"] }
  ListedWebhook: { id: Schemas["Id.whk"]; url: string; events: readonly (Schemas["Subscribable"])[]; state: "active" | "disabled" | "deleted"; created_at: Schemas["Time"]; disabled_at: Schemas["Time"] | null; previous_secret_valid_until: Schemas["Time"] | null; last_delivery: Schemas["Delivery"] | null }
  /** One event sent to one receiver. */
  Delivery: { id: Schemas["Id.dlv"]; target: "callback" | "webhook"; webhook_id?: Schemas["Id.whk"]; request_id?: Schemas["Id.req"]; event_id: Schemas["Id.evt"]; event_type: Schemas["SentType"]; url: string; state: "due" | "sending" | "delivered" | "dead" | "dropped"; next_attempt_at: Schemas["Time"] | null; attempts: readonly ({ at: Schemas["Time"]; outcome: string; duration_ms: number })[]; created_at: Schemas["Time"] }
  CreatedWebhook: { webhook: Schemas["Webhook"]; secret: string; ignored_fields?: Schemas["IgnoredFields"] }
  /** A webhook of the account; its secret is never shown again. */
  Webhook: { id: Schemas["Id.whk"]; url: string; events: readonly (Schemas["Subscribable"])[]; state: "active" | "disabled" | "deleted"; created_at: Schemas["Time"]; disabled_at: Schemas["Time"] | null; previous_secret_valid_until: Schemas["Time"] | null }
  ChangedWebhook: { ok: true; webhook: Schemas["Webhook"] }
  RotatedWebhook: { webhook: Schemas["Webhook"]; secret: string; previous_secret_valid_until: Schemas["Time"] }
  DeliveryList: { data: readonly (Schemas["Delivery"])[]; next_cursor: Schemas["NextCursor"] }
  RequestLog: { data: readonly (Schemas["Delivery"])[]; next_cursor: Schemas["NextCursor"]; cards: readonly (Schemas["Card"])[]; notifications: readonly (Schemas["Notification"])[]; quiet: readonly ({ approver: Schemas["ApproverReference"]; until: Schemas["Time"] })[] }
  /** One message in chat about a request, edited as the request changes. */
  Card: { id: Schemas["Id.crd"]; platform: "slack" | "teams"; recipient: "approver" | "channel" | "member"; approver?: Schemas["ApproverReference"]; state: "due" | "sending" | "shown" | "behind" | "not_sent" | "unreachable"; next_attempt_at: Schemas["Time"] | null; attempts: readonly ({ at: Schemas["Time"]; what: "post" | "update" | "reply"; outcome: "accepted" | "unreachable" | "unavailable" | "rate_limited" | "timeout" | "failed" | "interrupted"; duration_ms: number })[]; created_at: Schemas["Time"] }
  "Id.crd": string
  /** One notification in a browser, or one mail, about a request. */
  Notification: { id: Schemas["Id.psh"]; channel: "browser" | "mail"; about: "request" | "reminder" | "outcome"; approver?: Schemas["ApproverReference"]; state: "due" | "sending" | "sent" | "dead" | "dropped"; next_attempt_at: Schemas["Time"] | null; attempts: readonly ({ at: Schemas["Time"]; outcome: string; duration_ms: number })[]; created_at: Schemas["Time"] }
  "Id.psh": string
  CurrentSession: { user: Schemas["User"]; expires_at: Schemas["Time"]; accounts: readonly ({ id: Schemas["Id.acc"]; name: string; role: "owner" | "approver" | "auditor"; own: boolean })[]; invitations: readonly ({ account_id: Schemas["Id.acc"]; account_name: string; role: "approver" | "auditor"; invited_at: Schemas["Time"] })[]; recovery?: { account_name: string; opens_at: Schemas["Time"]; expires_at: Schemas["Time"] } }
  User: { id: Schemas["Id.usr"]; email: string; name: string; approver: Schemas["ApproverReference"]; account_id?: Schemas["Id.acc"]; role: "owner"; has_passkey: boolean; has_totp: boolean; has_suspended_passkey: boolean; default_ttl_seconds: number; delegate: { email: string; name: string; starts_at: Schemas["Time"]; ends_at: Schemas["Time"] } | null }
  /** The answer also sets the session cookie. */
  Session: { token: string; token_type: "Bearer"; expires_in: number; user: Schemas["User"] }
  ProvenSession: { ok: true; proven_until: Schemas["Time"] }
  AssertionOptions: { options: Schemas["PublicKeyCredentialRequestOptions"] }
  OwnSessions: { data: readonly (Schemas["OwnSession"])[]; next_cursor: Schemas["NextCursor"] }
  OwnSession: { id: Schemas["Id.ses"]; current: boolean; created_at: Schemas["Time"]; last_seen_at: Schemas["Time"]; expires_at: Schemas["Time"]; user_agent: string }
  OtherSessionsEnded: { ok: true; ended: number }
  Enrollment: { kind: "setup" | "invite"; email: string | null; name: string | null; expires_at: Schemas["Time"]; account_id?: Schemas["Id.acc"]; account_name?: string; role?: "approver" | "auditor"; opens_at?: Schemas["Time"]; enrolled: boolean }
  RegistrationOptions: { options: Schemas["PublicKeyCredentialCreationOptions"] }
  /** Pass it to `PublicKeyCredential.parseCreationOptionsFromJSON` (WebAuthn Level 3). */
  PublicKeyCredentialCreationOptions: { challenge: string; rp: { name: string; id: string }; user: { id: string; name: string; displayName: string }; pubKeyCredParams: readonly ({ alg: number; type: "public-key" })[]; timeout: number; attestation: "none" | "direct"; excludeCredentials: readonly ({ id: string; type: "public-key"; transports?: readonly (string)[] })[]; authenticatorSelection: { residentKey: "required"; userVerification: "required" }; extensions?: {  }; hints?: readonly (string)[] }
  TotpSetUp: { secret: string; otpauth_url: string; qr_svg: string }
  SessionWithBackupCodes: { token: string; token_type: "Bearer"; expires_in: number; user: Schemas["User"]; backup_codes: readonly (string)[] }
  Factors: { passkeys: readonly (Schemas["Passkey"])[]; totp: { enabled: boolean; since: Schemas["Time"] | null }; backup_codes_left: number; can_attest?: true }
  Passkey: { id: Schemas["Id.pky"]; name: string; created_at: Schemas["Time"]; last_used_at: Schemas["Time"] | null; synced: boolean; suspended: boolean; suspended_at: Schemas["Time"] | null; device_bound?: true; aaguid?: string; authenticator?: string; attested?: true }
  StepUpOptions: { methods: readonly ("passkey" | "totp")[]; options?: Schemas["PublicKeyCredentialRequestOptions"] }
  NewPasskeyAnswer: { passkey: Schemas["Passkey"] }
  BackupCodes: { backup_codes: readonly (string)[] }
  Profile: { user: Schemas["User"] }
  NextSteps: { hidden: boolean; second_passkey: boolean; told: boolean; owner?: { first_decision: boolean; member: boolean; member_unnamed: boolean; policy: boolean; chat_or_mail: boolean; approval_used: boolean } }
  DelegateCandidates: { data: readonly ({ user_id: Schemas["Id.usr"]; email: string; name: string })[]; next_cursor: Schemas["NextCursor"] }
  /** The names come from the platform and its users; they prove nothing. */
  ChatLink: { id: Schemas["Id.cln"]; kind: "link" | "browser" | "channel"; platform: "slack" | "teams"; person: string; workspace: string; channel?: string; expires_at: Schemas["Time"] }
  "Id.cln": string
  UsedChatLink: Schemas["LinkedChatIdentity"] | Schemas["AddedChatChannel"] | Schemas["Ok"]
  LinkedChatIdentity: { linked: Schemas["ChatIdentity"] }
  /** An identity on a chat platform that a person has linked. */
  ChatIdentity: { key: string; platform: "slack" | "teams"; tenant: string; person?: string; workspace?: string; linked_at: Schemas["Time"] }
  AddedChatChannel: { channel: Schemas["ChatChannel"] }
  /** A channel that is notified of every request of the account. */
  ChatChannel: { platform: "slack" | "teams"; tenant: string; channel: string; name?: string; workspace?: string; unavailable?: { since: Schemas["Time"]; reason: string; advice: string } }
  ChatIdentities: { identities: readonly (Schemas["ChatIdentity"])[] }
  ChatChannelList: { data: readonly (Schemas["ChatChannel"])[]; next_cursor: Schemas["NextCursor"] }
  ChatApps: { slack: { configured: boolean; mode: "one" | "many" | null; installations: readonly ({ tenant: string; name: string | null; installed_at: Schemas["Time"] | null })[]; unavailable?: Schemas["ChatTroubles"] }; teams: { configured: boolean; tenants: readonly (string)[]; name?: string; unavailable?: Schemas["ChatTroubles"] } }
  /** Workspaces that refuse cards of the account now. */
  ChatTroubles: readonly ({ tenant: string | null; since: Schemas["Time"]; reason: string; advice: string })[]
  PushDevices: { public_key: string; devices: readonly (Schemas["PushDevice"])[] }
  /** A browser that shows notifications. */
  PushDevice: { id: Schemas["Id.psd"]; name: string; created_at: Schemas["Time"]; last_sent_at: Schemas["Time"] | null }
  RegisteredPushDevice: { device: Schemas["PushDevice"] }
  PushTest: { ok: true; sent: boolean }
  /** By which channels the person is told what. */
  Hearing: { volumes: Schemas["VolumesOutput"] | null; quiet_hours: Schemas["QuietHoursOutput"] | null; mail: Schemas["MailAddress"] | null }
  /** The address with which the person signs in, as a place to be told. */
  MailAddress: { id: Schemas["Id.psd"]; state: "off" | "unconfirmed" | "on" | "bounced"; last_sent_at: Schemas["Time"] | null }
  AddressCodeSent: { ok: true; sent: boolean }
  Alive: { status: "ok"; version: string; commit: string }
  Ready: { status: "ready" }
  /** What each channel tells of requests. */
  VolumesOutput: { chat: "all" | "high_impact" | "none"; browser: "all" | "high_impact" | "none"; mail: "all" | "high_impact" | "digest" | "none" }
  /** Browsers and mails keep still then, and tell what still waits afterwards. */
  QuietHoursOutput: { from: string; to: string; time_zone: string }
}

/** What each call takes and answers. Calls that answer with something else than JSON are left out. */
export interface Operations {
  /** Make a request */ "POST /api/v1/approvals/request": { input: { query?: { wait?: number }; body: Schemas["CreateRequest"] }; answer: Schemas["CreatedRequest"] | Schemas["CreatedSandboxRequest"] }
  /** Ask for several at once */ "POST /api/v1/approvals/requests": { input: { body: Schemas["CreateRequests"] }; answer: Schemas["CreatedRequests"] }
  /** List the key's own requests, newest first */ "GET /api/v1/approvals": { input: { query?: { status?: "pending" | "approved" | "rejected" | "expired"; limit?: number; cursor?: string } }; answer: Schemas["ApprovalList"] }
  /** Read a request */ "GET /api/v1/approvals/{id}": { input: { path: { id: Schemas["Id.req"] } }; answer: Schemas["Approval"] }
  /** Wait for the decision */ "GET /api/v1/approvals/{id}/wait": { input: { path: { id: Schemas["Id.req"] }; query?: { timeout?: number } }; answer: Schemas["Approval"] }
  /** Wait for the first of several decisions */ "GET /api/v1/approvals/wait": { input: { query: { ids: string; timeout?: number } }; answer: Schemas["WaitedApprovals"] }
  /** Remind the approver */ "POST /api/v1/approvals/{id}/remind": { input: { path: { id: Schemas["Id.req"] } }; answer: Schemas["Reminder"] }
  /** Withdraw a request */ "POST /api/v1/approvals/{id}/cancel": { input: { path: { id: Schemas["Id.req"] } }; answer: Schemas["ExpiredApproval"] }
  /** Use an approval, once */ "POST /api/v1/approvals/{id}/consume": { input: { path: { id: Schemas["Id.req"] }; body?: Schemas["ConsumeRequest"] }; answer: Schemas["ConsumedApproval"] }
  /** Use an approval, once, by a token for a gateway */ "POST /api/v1/approvals/{id}/token": { input: { path: { id: Schemas["Id.req"] }; body?: Schemas["ConsumeRequest"] }; answer: Schemas["ApprovalToken"] }
  /** Verify a decision */ "GET /api/v1/approvals/{id}/verify": { input: { path: { id: string } }; answer: Schemas["Verdict"] }
  /** Get the name and the key of the log */ "GET /.well-known/countersign-log": { input: {  }; answer: Schemas["TransparencyLog"] }
  /** List my pending requests, the one that expires first on top */ "GET /api/v1/me/pending": { input: { query?: { limit?: number; cursor?: string } }; answer: Schemas["PendingRequests"] }
  /** Get the full content of a request */ "GET /api/v1/approvals/{id}/review": { input: { path: { id: Schemas["Id.req"] } }; answer: Schemas["Review"] }
  /** Get how far the log has a decision, and its bundle */ "GET /api/v1/approvals/{id}/proof": { input: { path: { id: Schemas["Id.req"] } }; answer: Schemas["DecisionProof"] }
  /** List earlier requests of the same key for the same tool */ "GET /api/v1/approvals/{id}/similar": { input: { path: { id: Schemas["Id.req"] } }; answer: Schemas["SimilarRequests"] }
  /** Start a decision by passkey */ "POST /api/v1/approvals/{id}/decision/options": { input: { path: { id: Schemas["Id.req"] }; body: Schemas["DecisionOptionsRequest"] }; answer: Schemas["DecisionOptions"] }
  /** Approve or reject */ "POST /api/v1/approvals/{id}/decision": { input: { path: { id: Schemas["Id.req"] }; body: Schemas["ProvenDecision"] }; answer: Schemas["Decided"] }
  /** Start deciding many requests with one gesture */ "POST /api/v1/approvals/decisions/options": { input: { body: Schemas["BatchOptionsRequest"] }; answer: Schemas["BatchOptions"] }
  /** Approve or reject many requests with one gesture */ "POST /api/v1/approvals/decisions": { input: { body: Schemas["ProvenBatch"] }; answer: Schemas["BatchDecided"] }
  /** Ask the owner of an account for an API key */ "POST /api/v1/bootstrap": { input: { body: Schemas["StartBootstrap"] }; answer: Schemas["BootstrapStarted"] }
  /** Get consent status */ "GET /api/v1/bootstrap/{id}/status": { input: { path: { id: string } }; answer: Schemas["BootstrapStatus"] }
  /** List the agents that ask for an API key, oldest first */ "GET /api/v1/account/bootstrap": { input: {  }; answer: Schemas["WaitingConsents"] }
  /** Get a request for an API key */ "GET /api/v1/account/bootstrap/{id}": { input: { path: { id: Schemas["Id.bst"] } }; answer: Schemas["Consent"] }
  /** Start consenting by passkey */ "POST /api/v1/account/bootstrap/{id}/decision/options": { input: { path: { id: Schemas["Id.bst"] }; body: Schemas["ConsentRequest"] }; answer: Schemas["ConsentOptions"] }
  /** Consent or refuse */ "POST /api/v1/account/bootstrap/{id}/decision": { input: { path: { id: Schemas["Id.bst"] }; body: Schemas["ProvenConsent"] }; answer: Schemas["Consented"] }
  /** List API keys */ "GET /api/v1/account/api-keys": { input: {  }; answer: Schemas["ApiKeyList"] }
  /** Make an API key */ "POST /api/v1/account/api-keys": { input: { body: Schemas["CreateApiKey"] }; answer: Schemas["CreatedApiKey"] }
  /** Change an API key */ "PATCH /api/v1/account/api-keys/{id}": { input: { path: { id: Schemas["Id.key"] }; body?: Schemas["ChangeApiKey"] }; answer: Schemas["ChangedApiKey"] }
  /** Revoke an API key */ "DELETE /api/v1/account/api-keys/{id}": { input: { path: { id: Schemas["Id.key"] } }; answer: Schemas["RevokedApiKey"] }
  /** Read the callback signing secrets */ "GET /api/v1/account/webhook-secret": { input: {  }; answer: Schemas["WebhookSecretAnswer"] }
  /** See an account and its quota */ "GET /api/v1/account": { input: { query?: { account?: string } }; answer: Schemas["Account"] }
  /** Make an account of my own */ "POST /api/v1/account": { input: { body: Schemas["NewAccount"] }; answer: Schemas["Account"] }
  /** Change your account: its name, names in channels */ "PATCH /api/v1/account": { input: { body: Schemas["AccountChange"] }; answer: Schemas["Account"] }
  /** List the requests of an account, newest first */ "GET /api/v1/account/requests": { input: { query?: { account?: string; status?: "pending" | "approved" | "rejected" | "expired"; q?: string; high_impact?: "true" | "false"; sandbox?: "true" | "false"; key?: string; person?: string; from?: string; to?: string; limit?: number; cursor?: string } }; answer: Schemas["History"] }
  /** Withdraw requests of my account that are pending */ "POST /api/v1/account/requests/withdraw": { input: { body: Schemas["Withdrawal"] }; answer: Schemas["Withdrawn"] }
  /** See how the requests of an account went */ "GET /api/v1/account/overview": { input: { query?: { account?: string; days?: number } }; answer: Schemas["Overview"] }
  /** List the audit trail of the account, newest first */ "GET /api/v1/account/audit": { input: { query?: { account?: string; type?: Schemas["AuditType"]; subject?: string; key?: string; actor?: string; from?: string; to?: string; q?: string; limit?: number; cursor?: string } }; answer: Schemas["AuditList"] }
  /** List the members of my account */ "GET /api/v1/account/members": { input: {  }; answer: Schemas["Members"] }
  /** Invite a person to my account */ "POST /api/v1/account/members": { input: { body: Schemas["NewMember"] }; answer: Schemas["InvitedMember"] }
  /** Change the role of a member */ "PATCH /api/v1/account/members/{id}": { input: { path: { id: Schemas["Id.usr"] }; body: Schemas["MemberRole"] }; answer: Schemas["ChangedMember"] }
  /** Make a new link for an invited person */ "POST /api/v1/account/members/{id}/link": { input: { path: { id: Schemas["Id.usr"] }; body?: Schemas["FreshProof"] }; answer: Schemas["NewMemberLink"] }
  /** Remove a member, or withdraw an invitation */ "POST /api/v1/account/members/{id}/remove": { input: { path: { id: Schemas["Id.usr"] }; body?: Schemas["FreshProof"] }; answer: Schemas["Ok"] }
  /** Get the policy of my account */ "GET /api/v1/account/policy": { input: {  }; answer: Schemas["Policy"] }
  /** Set the policy of my account */ "PUT /api/v1/account/policy": { input: { body: Schemas["SetPolicy"] }; answer: Schemas["Policy"] }
  /** Join an account that invited me */ "POST /api/v1/me/invitations/{id}/accept": { input: { path: { id: Schemas["Id.acc"] }; body: Schemas["Acceptance"] }; answer: Schemas["Ok"] }
  /** Decline an invitation */ "POST /api/v1/me/invitations/{id}/decline": { input: { path: { id: Schemas["Id.acc"] } }; answer: Schemas["Ok"] }
  /** Leave an account */ "POST /api/v1/me/memberships/{id}/leave": { input: { path: { id: Schemas["Id.acc"] } }; answer: Schemas["Ok"] }
  /** Let a member who lost a device set up their sign-in anew */ "POST /api/v1/account/members/{id}/recovery": { input: { path: { id: Schemas["Id.usr"] }; body?: Schemas["FreshProof"] }; answer: Schemas["MemberRecovery"] }
  /** Cancel the new set-up of a member */ "POST /api/v1/account/members/{id}/recovery/cancel": { input: { path: { id: Schemas["Id.usr"] } }; answer: Schemas["Ok"] }
  /** Refuse a new set-up of my sign-in */ "POST /api/v1/me/recovery/refuse": { input: {  }; answer: Schemas["Ok"] }
  /** List webhooks */ "GET /api/v1/account/webhooks": { input: {  }; answer: Schemas["WebhookList"] }
  /** Make a webhook */ "POST /api/v1/account/webhooks": { input: { body: Schemas["CreateWebhook"] }; answer: Schemas["CreatedWebhook"] }
  /** Read a webhook */ "GET /api/v1/account/webhooks/{id}": { input: { path: { id: Schemas["Id.whk"] } }; answer: Schemas["ListedWebhook"] }
  /** Delete a webhook */ "DELETE /api/v1/account/webhooks/{id}": { input: { path: { id: Schemas["Id.whk"] } }; answer: Schemas["ChangedWebhook"] }
  /** Switch a webhook on again */ "POST /api/v1/account/webhooks/{id}/enable": { input: { path: { id: Schemas["Id.whk"] } }; answer: Schemas["ChangedWebhook"] }
  /** Give a webhook a new secret */ "POST /api/v1/account/webhooks/{id}/rotate": { input: { path: { id: Schemas["Id.whk"] } }; answer: Schemas["RotatedWebhook"] }
  /** Send a test event */ "POST /api/v1/account/webhooks/{id}/test": { input: { path: { id: Schemas["Id.whk"] } }; answer: Schemas["Delivery"] }
  /** Delivery log of a webhook, newest first */ "GET /api/v1/account/webhooks/{id}/deliveries": { input: { path: { id: Schemas["Id.whk"] }; query?: { limit?: number; cursor?: string; state?: "due" | "sending" | "delivered" | "dead" | "dropped"; event?: "approval.created" | "approval.approved" | "approval.rejected" | "approval.expired" | "approval.reminded" | "bootstrap.requested" | "bootstrap.approved" | "key.created" | "key.revoked" | "delivery.exhausted" | "chat.unavailable" | "chat.restored" | "webhook.test" } }; answer: Schemas["DeliveryList"] }
  /** List the notifications of a request, newest first */ "GET /api/v1/approvals/{id}/deliveries": { input: { path: { id: Schemas["Id.req"] }; query?: { limit?: number; cursor?: string } }; answer: Schemas["RequestLog"] }
  /** List deliveries that were given up, newest first */ "GET /api/v1/account/dead-letters": { input: { query?: { limit?: number; cursor?: string } }; answer: Schemas["DeliveryList"] }
  /** Send a delivery once more */ "POST /api/v1/deliveries/{id}/replay": { input: { path: { id: Schemas["Id.dlv"] } }; answer: Schemas["Delivery"] }
  /** Get the current user */ "GET /api/v1/session": { input: { query?: { optional?: "true" } }; answer: Schemas["CurrentSession"] | undefined }
  /** Sign out */ "DELETE /api/v1/session": { input: {  }; answer: Schemas["Ok"] }
  /** Get a new session JWT */ "POST /api/v1/session/refresh": { input: {  }; answer: Schemas["Session"] }
  /** Prove presence in this session */ "POST /api/v1/session/proof": { input: { body: Schemas["FreshProof"] }; answer: Schemas["ProvenSession"] }
  /** Start signing in with a passkey */ "POST /api/v1/session/passkey/options": { input: {  }; answer: Schemas["AssertionOptions"] }
  /** Sign in with a passkey */ "POST /api/v1/session/passkey": { input: { body: Schemas["PasskeySignIn"] }; answer: Schemas["Session"] }
  /** Sign in with a one-time code */ "POST /api/v1/session/totp": { input: { body: Schemas["CodeSignIn"] }; answer: Schemas["Session"] }
  /** Sign in with a backup code */ "POST /api/v1/session/backup-code": { input: { body: Schemas["CodeSignIn"] }; answer: Schemas["Session"] }
  /** List my sessions */ "GET /api/v1/me/sessions": { input: {  }; answer: Schemas["OwnSessions"] }
  /** End all my other sessions */ "POST /api/v1/me/sessions/end-others": { input: {  }; answer: Schemas["OtherSessionsEnded"] }
  /** End one of my sessions */ "POST /api/v1/me/sessions/{id}/end": { input: { path: { id: Schemas["Id.ses"] } }; answer: Schemas["Ok"] }
  /** Inspect a one-time link */ "POST /api/v1/enrollment/lookup": { input: { body: Schemas["EnrollmentLookup"] }; answer: Schemas["Enrollment"] }
  /** Start enrolling with a passkey */ "POST /api/v1/enrollment/passkey/options": { input: { body: Schemas["EnrollmentOptions"] }; answer: Schemas["RegistrationOptions"] }
  /** Enrol with a passkey */ "POST /api/v1/enrollment/passkey": { input: { body: Schemas["PasskeyEnrollment"] }; answer: Schemas["Session"] }
  /** Start enrolling with one-time codes */ "POST /api/v1/enrollment/totp/options": { input: { body: Schemas["EnrollmentOptions"] }; answer: Schemas["TotpSetUp"] }
  /** Enrol with one-time codes */ "POST /api/v1/enrollment/totp": { input: { body: Schemas["TotpEnrollment"] }; answer: Schemas["SessionWithBackupCodes"] }
  /** My passkeys and codes */ "GET /api/v1/me/factors": { input: {  }; answer: Schemas["Factors"] }
  /** Start confirming a change */ "POST /api/v1/me/step-up/options": { input: { body: Schemas["StepUp"] }; answer: Schemas["StepUpOptions"] }
  /** Start adding a passkey */ "POST /api/v1/me/passkeys/options": { input: { body?: Schemas["NewPasskeyOptions"] }; answer: Schemas["RegistrationOptions"] }
  /** Add a passkey */ "POST /api/v1/me/passkeys": { input: { body: Schemas["NewPasskey"] }; answer: Schemas["NewPasskeyAnswer"] }
  /** Remove a passkey */ "POST /api/v1/me/passkeys/{id}/remove": { input: { path: { id: Schemas["Id.pky"] }; body?: Schemas["FreshProof"] }; answer: Schemas["Ok"] }
  /** Start setting up one-time codes */ "POST /api/v1/me/totp/options": { input: { body?: Schemas["FreshProof"] }; answer: Schemas["TotpSetUp"] }
  /** Confirm one-time codes */ "POST /api/v1/me/totp": { input: { body: Schemas["Code"] }; answer: Schemas["BackupCodes"] }
  /** Remove one-time codes */ "POST /api/v1/me/totp/remove": { input: { body?: Schemas["FreshProof"] }; answer: Schemas["Ok"] }
  /** Make new backup codes */ "POST /api/v1/me/backup-codes": { input: { body?: Schemas["FreshProof"] }; answer: Schemas["BackupCodes"] }
  /** Change my name, default expiry, or what I am shown */ "PATCH /api/v1/me": { input: { body?: Schemas["ChangeProfile"] }; answer: Schemas["Profile"] }
  /** Let another person decide for me for a while */ "PUT /api/v1/me/delegate": { input: { body: Schemas["SetDelegate"] }; answer: Schemas["Profile"] }
  /** See what I have set up, and what is left */ "GET /api/v1/me/next-steps": { input: { query?: { account?: string } }; answer: Schemas["NextSteps"] }
  /** List the people who could decide for me */ "GET /api/v1/me/delegate/candidates": { input: {  }; answer: Schemas["DelegateCandidates"] }
  /** End the delegation of my decisions */ "POST /api/v1/me/delegate/remove": { input: {  }; answer: Schemas["Profile"] }
  /** Inspect a one-time link from chat */ "POST /api/v1/chat-links/look": { input: { body: Schemas["LookAtChatLink"] }; answer: Schemas["ChatLink"] }
  /** Use a one-time link from chat */ "POST /api/v1/chat-links/use": { input: { body: Schemas["UseChatLink"] }; answer: Schemas["UsedChatLink"] }
  /** My linked identities */ "GET /api/v1/me/chat": { input: {  }; answer: Schemas["ChatIdentities"] }
  /** Unlink an identity */ "POST /api/v1/me/chat/remove": { input: { body: Schemas["RemoveChatIdentity"] }; answer: Schemas["Ok"] }
  /** Channels notified of every request */ "GET /api/v1/account/channels": { input: {  }; answer: Schemas["ChatChannelList"] }
  /** Stop notifying a channel */ "POST /api/v1/account/channels/remove": { input: { body: Schemas["RemoveChatChannel"] }; answer: Schemas["Ok"] }
  /** Get the chat setup of the account */ "GET /api/v1/account/chat-apps": { input: {  }; answer: Schemas["ChatApps"] }
  /** Stop sending cards to a workspace */ "POST /api/v1/account/chat-apps/remove": { input: { body: Schemas["RemoveChatApp"] }; answer: Schemas["Ok"] }
  /** List my browsers that show notifications */ "GET /api/v1/me/push": { input: {  }; answer: Schemas["PushDevices"] }
  /** Register a browser for notifications */ "POST /api/v1/me/push": { input: { body: Schemas["NewPushDevice"] }; answer: Schemas["RegisteredPushDevice"] }
  /** Send a browser nothing more */ "POST /api/v1/me/push/{id}/remove": { input: { path: { id: Schemas["Id.psd"] } }; answer: Schemas["Ok"] }
  /** Send a test to a browser */ "POST /api/v1/me/push/{id}/test": { input: { path: { id: Schemas["Id.psd"] } }; answer: Schemas["PushTest"] }
  /** Show by which channels I am told what */ "GET /api/v1/me/notifications": { input: {  }; answer: Schemas["Hearing"] }
  /** Choose by which channels I am told what */ "PATCH /api/v1/me/notifications": { input: { body: Schemas["ChangeHearing"] }; answer: Schemas["Hearing"] }
  /** Send a code to my e-mail address */ "POST /api/v1/me/mail": { input: {  }; answer: Schemas["AddressCodeSent"] }
  /** Confirm my e-mail address by the code */ "POST /api/v1/me/mail/confirm": { input: { body: Schemas["AddressCode"] }; answer: Schemas["Hearing"] }
  /** Send a test to my chat accounts */ "POST /api/v1/me/chat/test": { input: {  }; answer: Schemas["Ok"] }
  /** Liveness check */ "GET /healthz": { input: {  }; answer: Schemas["Alive"] }
  /** Readiness check */ "GET /readyz": { input: {  }; answer: Schemas["Ready"] }
  /** This document */ "GET /openapi.json": { input: {  }; answer: { openapi: string } }
}

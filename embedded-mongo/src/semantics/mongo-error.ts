import type { BsonDocument } from './values.ts'

/** MongoDB's own error names and numbers (src/mongo/base/error_codes.yml); unnamed codes are `Location<code>`. */
const codeNames = {
  1: 'InternalError',
  2: 'BadValue',
  9: 'FailedToParse',
  13: 'Unauthorized',
  14: 'TypeMismatch',
  15: 'Overflow',
  16: 'InvalidLength',
  17: 'ProtocolError',
  18: 'AuthenticationFailed',
  20: 'IllegalOperation',
  22: 'InvalidBSON',
  26: 'NamespaceNotFound',
  27: 'IndexNotFound',
  28: 'PathNotViable',
  34: 'CannotBackfillArray',
  39: 'FileStreamFailed',
  40: 'ConflictingUpdateOperators',
  43: 'CursorNotFound',
  48: 'NamespaceExists',
  50: 'MaxTimeMSExpired',
  52: 'DollarPrefixedFieldName',
  53: 'InvalidIdField',
  54: 'NotSingleValueField',
  56: 'EmptyFieldName',
  59: 'CommandNotFound',
  66: 'ImmutableField',
  67: 'CannotCreateIndex',
  72: 'InvalidOptions',
  73: 'InvalidNamespace',
  79: 'UnknownReplWriteConcern',
  85: 'IndexOptionsConflict',
  86: 'IndexKeySpecsConflict',
  111: 'NotExactValueField',
  168: 'InvalidPipelineOperator',
  171: 'CannotIndexParallelArrays',
  175: 'QueryPlanKilled',
  197: 'InvalidIndexSpecificationOption',
  223: 'IllegalOpMsgFlag',
  224: 'QueryFeatureNotAllowed',
  235: 'CursorInUse',
  238: 'NotImplemented',
  276: 'IndexBuildAborted',
  291: 'NoQueryExecutionPlans',
  292: 'QueryExceededMemoryLimitNoDiskUseAllowed',
  352: 'UnsupportedOpQueryCommand',
  365: 'TemporarilyUnavailable',
  366: 'DataCorruptionDetected',
  10334: 'BSONObjectTooLarge',
  11000: 'DuplicateKey',
  11600: 'InterruptedAtShutdown',
  14031: 'OutOfDiskSpace',
} as const satisfies Record<number, string>

/** The name of an error code that has one. */
type MongoErrorName = (typeof codeNames)[keyof typeof codeNames]

const nameByCode = new Map<number, string>(
  Object.entries(codeNames).map(([code, name]) => [Number(code), name]),
)
const codeByName = new Map<string, number>(
  Object.entries(codeNames).map(([code, name]) => [name, Number(code)]),
)

/**
 * An error as MongoDB reports it: numeric code, code name and message, and any extra reply fields
 * (`keyPattern` and `keyValue` for E11000).
 */
export class MongoError extends Error {
  override readonly name = 'MongoError'
  readonly code: number
  readonly codeName: string
  readonly extra: BsonDocument

  constructor(code: number, message: string, extra: BsonDocument = new Map()) {
    super(message)
    this.code = code
    this.codeName = nameByCode.get(code) ?? `Location${code}`
    this.extra = extra
  }
}

/** Makes the error of a named code, for example `mongoError('TypeMismatch', '…')` for code 14. */
export function mongoError(name: MongoErrorName, message: string): MongoError {
  return new MongoError(codeByName.get(name) ?? 8, message)
}

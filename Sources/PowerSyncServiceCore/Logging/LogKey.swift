/// The metadata keys of the service's log lines.
///
/// A message is a constant; every value is metadata under one of these keys. Keys that the established service has, too, mean the
/// same there. Numbers are given as `.stringConvertible(number)`, so that the JSON format has them as numbers.
package enum LogKey {
    // MARK: Requests

    /// The id of a request: `h/<uuid>` over HTTP, `s/<uuid>` over WebSocket.
    package static let requestID = "rid"
    /// The method of an HTTP request.
    package static let method = "method"
    /// The path of an HTTP request, at most 200 Unicode scalars of it.
    package static let path = "path"
    /// The route that an HTTP stream was opened by.
    static let route = "route"
    /// The status of an HTTP response, a number.
    package static let status = "status"
    /// How long an answer took, in milliseconds, a number.
    package static let duration = "duration_ms"
    /// Whether a request was refused because its queue is full, a boolean.
    package static let queueOverflow = "queue_overflow"
    /// The text of an error that the client gets.
    package static let description = "description"
    /// What only operators are told of an error.
    package static let details = "details"

    // MARK: Sync streams

    /// The user of a sync stream.
    package static let userID = "user_id"
    /// The id that the client has given itself.
    static let clientID = "client_id"
    /// What the client calls itself.
    static let userAgent = "user_agent"
    /// Whether an HTTP stream has lines of BSON, a boolean.
    static let bson = "bson"
    /// What the app says about itself, a dictionary.
    static let appMetadata = "app_metadata"
    /// The types of the client's parameters by their names, a dictionary; never their values.
    static let clientParameters = "client_params"
    /// An op id, a number.
    package static let checkpoint = "checkpoint"
    /// A write checkpoint, a number.
    static let writeCheckpoint = "write"
    /// How many buckets the client has, a number.
    static let buckets = "buckets"
    /// The names of the first buckets.
    static let bucketNames = "bucket_names"
    /// The names of the first buckets that have changed.
    static let updatedBuckets = "updated"
    /// The names of the first buckets that the client no longer has.
    static let removedBuckets = "removed"
    /// How many rows parameter queries gave, a number.
    static let parameterResults = "parameter_query_results"
    /// The priority of a partial checkpoint, a number.
    static let priority = "priority"
    /// Operations sent, a number.
    static let operationsSynced = "operations_synced"
    /// The bytes of lines sent, before compression, a number.
    static let syncedBytes = "data_synced_bytes"
    /// Where the time since the announcement of a checkpoint went, in milliseconds, a dictionary of numbers: by what the session did,
    /// `other`, and their `total`.
    static let milliseconds = "ms"
    /// Operations sent by kind, a dictionary of numbers.
    static let operationCounts = "operation_counts"
    /// How long a stream lasted, in milliseconds, a number.
    static let streamDuration = "stream_ms"
    /// Why a stream ended.
    static let closeReason = "close_reason"
    /// Subscriptions, a number.
    static let subscriptions = "subscriptions"
    /// The index of the first of several subscriptions, a number.
    static let firstSubscription = "first"
    /// The names of streams of the sync config.
    static let syncStreams = "streams"
    /// Which streams or parameter lookups need how much of a limit.
    static let usage = "usage"

    // MARK: Replication

    /// The id of a replication stream, a number.
    package static let replicationStream = "replication_stream"
    /// What operators call the version of the sync config.
    static let versionLabel = "version_label"
    /// The number of the sync config in its replication stream.
    static let configNumber = "config_number"
    /// What a deployment does with a stream of the sync config: `kept`, `read` or `removed`.
    static let change = "change"
    /// Source tables that are read.
    static let tables = "tables"
    /// A stream of the sync config.
    static let syncStream = "stream"
    /// A source table.
    package static let table = "table"
    /// A column of a source table.
    package static let column = "column"
    /// What has made a table another one.
    static let changed = "changed"
    /// The identity of a source row: `column=value` for each column of the key.
    package static let rowKey = "row_key"
    /// What a row is missing from: buckets of these definitions, or an index.
    package static let target = "target"
    /// Rows, a number.
    package static let rows = "rows"
    /// About how many rows a table has, a number.
    static let estimatedRows = "estimated_rows"
    /// How many tables have been copied before the one that is being copied, a number.
    static let copiedTables = "copied_tables"
    /// How many tables are copied one after the other, a number.
    static let copyingTables = "copying_tables"
    /// A size in bytes, a number.
    package static let bytes = "bytes"
    /// A source position.
    static let lsn = "lsn"
    /// A replication slot.
    package static let slot = "slot"
    /// Bytes that are left of ``limitBytes``, a number.
    package static let remainingBytes = "remaining_bytes"
    /// A limit in bytes, a number.
    package static let limitBytes = "limit_bytes"
    /// For how long nothing was heard, in seconds, a number.
    package static let silence = "silence_seconds"
    /// Which attempt has failed, counted from 1, a number.
    static let attempt = "attempt"
    /// The time to the next attempt, in milliseconds, a number.
    static let pause = "pause_ms"

    // MARK: Storage

    /// Operations that a compaction has moved, a number.
    static let movedOperations = "moved"
    /// Operations that a compaction has cleared, a number.
    static let clearedOperations = "cleared"
    /// Entries of parameter indexes that a compaction has deleted, a number.
    static let deletedEntries = "entries"
    /// Write checkpoint requests that a compaction has deleted, a number.
    static let deletedRequests = "requests"
    /// Which database: `source` or `storage`.
    package static let database = "database"

    // MARK: The process

    /// The address that the service is reached at.
    package static let url = "url"
    /// A port, a number.
    package static let port = "port"
    /// An endpoint, such as `POST /dev/token`.
    package static let endpoint = "endpoint"
    /// A file.
    package static let file = "file"
    /// Files, each with what is wrong with it.
    package static let files = "files"
    /// The file of a certificate.
    package static let certificate = "certificate"
    /// The file of the private key of a certificate.
    package static let privateKey = "key"
    /// When a certificate ends.
    package static let notAfter = "not_after"
    /// A limit, a number.
    package static let limit = "limit"
    /// `api.parameters.max_concurrent_connections`, a number.
    package static let maximumConnections = "max_concurrent_connections"
    /// How many connections the limit of open files allows, a number.
    package static let possibleConnections = "possible_connections"
    /// How many files the process needs open for its connections, a number.
    package static let neededOpenFiles = "needed_open_files"

    // MARK: Everywhere

    /// A code of the error catalogue.
    package static let code = "code"
    /// An error.
    package static let error = "error"
    /// What to do about it.
    package static let remedy = "remedy"
    /// SQL that mends it.
    package static let statement = "statement"
    /// Why something happened.
    package static let reason = "reason"
    /// How something has ended.
    package static let outcome = "outcome"
    /// A finding about a configuration that does not keep it from being used.
    package static let warning = "warning"
    /// A finding about a sync config, with its place.
    package static let diagnostic = "diagnostic"
}

/// How an ``UploadApplier`` applies writes.
///
/// ```swift
/// var options = UploadApplierOptions()
/// options.tables = ["lists", "todos"]
/// ```
public struct UploadApplierOptions: Sendable {
    /// What a rejected write means for the others of its local transaction.
    public struct RejectionScope: Sendable, Hashable {
        enum Kind: Sendable {
            case transaction, entry
        }

        let kind: Kind

        /// None of them is applied: a transaction comes as a whole or not at all.
        public static let transaction = RejectionScope(kind: .transaction)
        /// They are applied without it.
        public static let entry = RejectionScope(kind: .entry)
    }

    /// The tables that clients may write to; `nil` for all of the app.
    ///
    /// Those of SQLite, of this package and of the sync service, which begin with `sqlite_` and `_ps_`, are never among them, nor are those
    /// of other schemas than the app's.
    public var tables: Set<String>?
    /// The name of the column with the id of a row, which must be the primary key.
    public var idColumn = "id"
    /// What a rejected write means for the others of its local transaction.
    public var rejectionScope = RejectionScope.transaction
    /// How many applied writes are remembered for each client, at least: 1,000.
    ///
    /// Those that the client may still send again, because it has not shown that it got the answer, are remembered in any case.
    public var rememberedWrites = 1_000

    /// How long a request may take over a database server, waits for locks and begun attempts included: a minute.
    ///
    /// After that it is cancelled, the rule that is deciding too, and fails with ``UploadTimeLimitError``. An applier over SQLite waits for
    /// the file as long as its configuration says.
    public var requestTimeLimit = Duration.seconds(60)
    /// What errors of a database server mean that are the app's own, such as those that its functions and triggers raise; `nil`, also as
    /// result, leaves it to the applier.
    ///
    /// ```swift
    /// options.serverErrors = { error in
    ///     switch error.sqlState {
    ///     case "APP01": .reject("The list is archived.", code: .forbidden)
    ///     case "APP02": .again
    ///     default: nil
    ///     }
    /// }
    /// ```
    public var serverErrors: (@Sendable (UploadServerError) -> UploadServerError.Meaning?)?

    /// Creates options with the defaults.
    public init() {}
}

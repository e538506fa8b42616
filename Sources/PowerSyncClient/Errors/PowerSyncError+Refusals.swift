import Foundation
import PowerSyncProtocol
import PowerSyncSQLite

/// What the SDK refuses, and in which words: each refusal has its code and its text here.
///
/// `scripts/check-errors` refuses `operationFailed` with a message anywhere else.
extension PowerSyncError {
    private static func refused(_ code: PowerSyncErrorCode, _ message: String) -> PowerSyncError {
        .operationFailed(message: message, underlyingError: code)
    }
}

// MARK: - The state of a database

extension PowerSyncError {
    /// Any operation on a database after its end.
    static let databaseIsClosed = refused(.closed, "The database is closed")

    /// The database was closed while an operation waited.
    static func closed(while waiting: String) -> PowerSyncError {
        refused(.closed, "The database was closed while \(waiting).")
    }

    static let disconnectedWhileSyncingOnce = refused(.disconnected, "The connection was ended while syncing once.")

    static let otherAccount = refused(
        .otherAccount,
        "The database has the data of another account. Sign that one out, or connect with ifAnother: .clear to remove its data."
    )
    static let noAccount = refused(
        .invalidArgument,
        "It is not known which account the database is to belong to: the token has no sub. Give connect an account."
    )

    static func unsentWrites(_ count: Int) -> PowerSyncError {
        refused(
            .writesNotUploaded,
            "\(count.counted("local write waits", "local writes wait")) for an upload, and would be lost. "
                + "Upload them first, or say that they are to be discarded."
        )
    }

    static func noTableToEmpty(_ name: String) -> PowerSyncError {
        refused(
            .invalidArgument,
            "\(name) cannot be emptied with the data of the user: it is no table that the app has made itself."
        )
    }

    /// The first sync has taken longer than the app waits for it.
    static func notSynced(within timeout: Duration, _ status: String) -> PowerSyncError {
        refused(.timedOut, "The first sync was not complete after \(timeout). The database is: \(status).")
    }

    /// A connection that only downloads has come to a checkpoint that local writes hold back.
    static func notUploaded(_ count: Int) -> PowerSyncError {
        refused(
            .writesNotUploaded,
            "\(count.counted("local write waits", "local writes wait")) for an upload, and this connection only downloads: "
                + "what the service has sent would take them away, and is not shown. "
                + "Connect with ConnectOptions.mode full or uploadOnly to upload them, or call disconnectAndClear() to remove them."
        )
    }

    static let connectedWhileUpdatingSchema = refused(.connected, "Cannot update schema while connected.")
    static let syncedByAnother = refused(.syncedByAnother, "Another database object syncs the same file.")

    static func cannotDelete(openFile path: String) -> PowerSyncError {
        refused(
            .fileInUse,
            "Cannot delete the database file \(path): another instance of this process has it open. "
                + "Close that one, then call close(deleteDatabase: true) again."
        )
    }

    static func notSupported(_ operation: String, by database: Any) -> PowerSyncError {
        refused(.notSupported, "\(operation) is not supported by a database of type \(type(of: database))")
    }
}

// MARK: - Listening for inspection

extension PowerSyncError {
    static func unusableSocketPath(_ path: String, longest: Int) -> PowerSyncError {
        refused(
            .invalidArgument,
            "A Unix socket cannot have the path \(path): it has \(path.utf8.count) bytes of at most \(longest), without a NUL. "
                + "Name one in a folder with a shorter path, such as /tmp."
        )
    }

    static func otherListener(at path: String) -> PowerSyncError {
        refused(.fileInUse, "Another app listens at \(path). Give each app a path of its own.")
    }

    static func noSocket(at path: String) -> PowerSyncError {
        refused(.fileInUse, "\(path) is there, and is no socket: it is left as it is. Name another path.")
    }

    static func cannotListen(at path: String, _ error: POSIXError) -> PowerSyncError {
        refused(.cannotOpen, "Nothing can listen at \(path): \(error.lineOfText)")
    }
}

// MARK: - Opening

extension PowerSyncError {
    static let untrustedSchema = refused(
        .cannotOpen,
        "The pool's connections have PRAGMA trusted_schema = OFF, under which SQLite refuses the "
            + "triggers of PowerSync's views. Leave out that statement, and call configurePowerSync(schema:)."
    )
    static let poolWithoutFile = refused(
        .cannotOpen,
        "The pool's database has no file. PowerSync needs a file to open connections of its own to it; "
            + "use PowerSyncDatabase(schema:dbFilename:) for a database in memory"
    )
    static let otherInitialStatements = refused(
        .cannotOpen,
        "Another database object of this process uses the same file with other initialStatements: create both with the same ones, "
            + "or this one after the other one was closed."
    )
    static let fileNameWithNUL = refused(.invalidArgument, "The database file name contains a NUL character")
    static let emptyFileName = refused(.invalidArgument, "The database file name is empty")
    static let noDirectory = refused(
        .cannotOpen,
        "There is no directory for application data; use an absolute database path"
    )

    static func fileNameLeavesDirectory(_ name: String) -> PowerSyncError {
        refused(.invalidArgument, "The database file name \(name) contains '..'; use an absolute path instead")
    }

    /// A failure of the file system, with its error below.
    static func cannotCreate(directory path: String, _ error: any Error) -> PowerSyncError {
        .operationFailed(message: "Cannot create the database directory \(path)", underlyingError: error)
    }

    /// A failure of the file system, with its error below.
    static func cannotDelete(file path: String, _ error: any Error) -> PowerSyncError {
        .operationFailed(message: "Cannot delete the database file \(path)", underlyingError: error)
    }

    /// A key was given, and the library has no cipher.
    static var cipherIsMissing: PowerSyncError { notOpened(DatabaseKeyError.noCipher) }

    /// A key does not open a file, or the app has given none.
    static func notOpened(_ error: any Error) -> PowerSyncError {
        .operationFailed(message: "The database was not opened", underlyingError: error)
    }

    static func cannotChangeKey(openFile path: String) -> PowerSyncError {
        refused(
            .fileInUse,
            "The key of the database file \(path) cannot be changed while this process has it open: close it before."
        )
    }

    static func cannotChangeKey(ofMissing path: String) -> PowerSyncError {
        refused(.cannotOpen, "There is no database file at \(path) whose key could be changed.")
    }

    static func cannotChangeKey(_ path: String, _ error: any Error) -> PowerSyncError {
        .operationFailed(
            message: "The key of the database file \(path) was not changed, and the file is as it was",
            underlyingError: error
        )
    }
}

// MARK: - Seeds

extension PowerSyncError {
    private static let howToSeed = "Make one with: powersync seed --user USER --output FILE"

    static func noSeed(_ path: String) -> PowerSyncError {
        refused(
            .cannotOpen,
            "There is no seed at \(path), and no database that could do without. \(howToSeed). Or leave out seedFile."
        )
    }

    static func notASeed(_ path: String) -> PowerSyncError {
        refused(
            .cannotOpen,
            "The file \(path) is no seed that a database can begin with: a database that was opened is none, nor is another file. "
                + "\(howToSeed)."
        )
    }

    static func newerSeed(_ path: String, _ version: String, newest: String) -> PowerSyncError {
        refused(
            .cannotOpen,
            "The seed \(path) is of version \(version), and this SDK reads versions up to \(newest). "
                + "Update the package, or make the seed with the powersync command of this version."
        )
    }

    /// A failure of SQLite, with its error below.
    static func unreadableSeed(_ path: String, _ error: PowerSyncError) -> PowerSyncError {
        .operationFailed(message: "The seed \(path) cannot be read. \(howToSeed).", underlyingError: error)
    }

    /// A failure of the file system, with its error below.
    static func notSeeded(_ path: String, _ seed: String, _ error: any Error) -> PowerSyncError {
        .operationFailed(
            message: "The seed \(seed) was not copied to \(path), where there is no database now",
            underlyingError: error
        )
    }

    static let seedInMemory = refused(
        .notSupported,
        "A database in memory cannot begin with a seed: give it a file name, or leave out seedFile."
    )

    static func seedOfAnother(unsent count: Int) -> PowerSyncError {
        refused(
            .otherAccount,
            "The database began with the rows of another user, which are to be removed, and "
                + "\(count.counted("local write waits", "local writes wait")) for an upload. "
                + "Call disconnectAndClear() to remove both."
        )
    }

    static func cannotMakeSeed(overOtherFile path: String) -> PowerSyncError {
        refused(
            .fileInUse,
            "There is a file at \(path) that is no seed, which is not replaced. Give another name, or delete the file."
        )
    }

    static func cannotMakeSeed(beside path: String) -> PowerSyncError {
        refused(
            .fileInUse,
            "A seed is being made at \(path) just now, by another powersync seed. Wait until it has ended, or give another name."
        )
    }

    /// A failure of the file system, with its error below.
    static func cannotMakeSeed(at path: String, _ error: any Error) -> PowerSyncError {
        .operationFailed(message: "The file \(path) cannot be made, so there is no seed", underlyingError: error)
    }

    static func cannotMakeSeed(ofToken problem: String) -> PowerSyncError {
        refused(.invalidArgument, "The token \(problem), and without one no seed can be made.")
    }

    /// The service has not sent a complete checkpoint, for a reason that is below, if it is known.
    static func cannotMakeSeed(within timeout: Duration, _ error: (any Error)?) -> PowerSyncError {
        let message = "No complete checkpoint has come within \(timeout), so there is no seed."
        guard let error else { return refused(.timedOut, message) }
        return .operationFailed(message: message, underlyingError: error)
    }
}

// MARK: - Statements

extension PowerSyncError {
    static let contextOnOtherThread = refused(
        .invalidContext,
        "A connection context was used on another thread than that of its callback"
    )
    static let contextAfterCallback = refused(
        .invalidContext,
        "A connection context was used after its callback had returned"
    )

    static func notSupported(byConnection context: Any) -> PowerSyncError {
        refused(.notSupported, "This operation is not supported by a connection of type \(type(of: context))")
    }

    /// A query that has to give a row gave none.
    static func noRow(of sql: String) -> PowerSyncError {
        refused(.noRow, "The query gave no row: \(sql)")
    }

    /// A text is empty or has only comments.
    static func noStatement(in sql: String) -> PowerSyncError {
        refused(.invalidArgument, "There is no statement in the SQL text '\(sql)'")
    }

    /// A text has more than the one statement that can be run.
    static func severalStatements(in sql: String) -> PowerSyncError {
        let dropped = SQLText.statements(sql).dropFirst().joined(separator: "; ")
        return refused(
            .invalidArgument,
            """
            Only one statement can be run here, and the text has more, so that nothing was run. Run the others by \
            themselves: '\(dropped)'. The text: \(sql)
            """
        )
    }

    static func cannotBind(_ parameter: Any) -> PowerSyncError {
        refused(
            .invalidArgument,
            "A parameter of type \(type(of: parameter)) cannot be bound; "
                + "make the type conform to PowerSyncDataTypeConvertible"
        )
    }

    static func integerIsTooLarge(_ value: any BinaryInteger) -> PowerSyncError {
        refused(.invalidArgument, "The parameter \(value) does not fit a 64-bit integer")
    }

    /// A run of a batch failed, with its error below.
    static func batchFailed(at index: Int, _ error: any Error) -> PowerSyncError {
        .operationFailed(
            message: "Parameter set \(index) of the batch failed, and nothing was written",
            underlyingError: error
        )
    }
}

// MARK: - Arguments and options

extension PowerSyncError {
    static func notSeconds(_ name: String, _ seconds: TimeInterval) -> PowerSyncError {
        refused(.invalidArgument, "\(name) is a number of seconds from 0, not \(seconds).")
    }

    static func notPositive(_ name: String, _ limit: Duration) -> PowerSyncError {
        refused(.invalidArgument, "\(name) is a time of more than 0, not \(limit).")
    }

    static func tooSmall(_ name: String, _ number: Int) -> PowerSyncError {
        refused(.invalidArgument, "\(name) must be at least 1, not \(number).")
    }

    static func emptyName(of what: String) -> PowerSyncError {
        refused(.invalidArgument, "The name of \(what) is empty.")
    }

    static func nameWithNUL(of what: String) -> PowerSyncError {
        refused(.invalidArgument, "The name of \(what) contains a NUL character.")
    }

    static func nameIsTooLong(of what: String, _ count: Int) -> PowerSyncError {
        refused(.invalidArgument, "The name of \(what) has \(count) bytes; the most are \(Argument.longestName).")
    }

    static func parametersAreTooLong(of what: String, _ count: Int) -> PowerSyncError {
        refused(
            .invalidArgument,
            "The parameters of \(what) are \(count) bytes of JSON; the most are \(Argument.longestParameters)."
        )
    }

    static func parametersAreTooDeep(of what: String) -> PowerSyncError {
        refused(
            .invalidArgument,
            "The parameters of \(what) are nested more than \(Argument.deepestNesting) levels deep."
        )
    }

    static func notJSON(_ number: Double, in what: String) -> PowerSyncError {
        refused(.invalidArgument, "The parameters of \(what) have the number \(number), which JSON does not have.")
    }

    static let retryDelayIsNaN = refused(.invalidArgument, "checkpointRequestRetryDelay is not a number.")

    static func metadataIsTooLong(_ count: Int) -> PowerSyncError {
        refused(.invalidArgument, "appMetadata has \(count) bytes; the most are \(Argument.longestParameters).")
    }

    static func negativeDeadline(_ deadline: Duration) -> PowerSyncError {
        refused(.invalidArgument, "The deadline of syncOnce is negative: \(deadline)")
    }

    static func negativePriority(_ priority: Int32) -> PowerSyncError {
        refused(.invalidArgument, "There is no negative priority: \(priority)")
    }

    static func noSubscriptionPriority(_ priority: Int32) -> PowerSyncError {
        refused(.invalidArgument, "The priority of a stream subscription is 0, 1, 2 or 3, not \(priority).")
    }

    static func noTimeToLive(_ seconds: TimeInterval) -> PowerSyncError {
        refused(
            .invalidArgument,
            "The time to live of a stream subscription is a number of seconds from 0, not \(seconds)."
        )
    }

    static let noQueryDatabase = refused(.invalidArgument, "The query has no database yet")
    static let noCertificates = refused(.invalidArgument, "There is no certificate among the trusted authorities.")

    /// A failure of the TLS library, with its error below.
    static func notCertificates(_ error: any Error) -> PowerSyncError {
        .operationFailed(
            message: "The trusted authorities are not certificates in PEM form.",
            underlyingError: error
        )
    }

    static func notUploadAddress(_ url: String) -> PowerSyncError {
        refused(
            .invalidArgument,
            """
            The address "\(url)" is not one to upload to. \
            It must be a URL like https://api.example.com/upload, without a user name.
            """
        )
    }
}

// MARK: - Schemas and table diffs

extension PowerSyncError {
    static func invalidSchema(_ problem: String) -> PowerSyncError {
        refused(.invalidSchema, problem)
    }

    static func noColumn(_ column: String, ofIndex index: String, table: String) -> PowerSyncError {
        refused(.invalidSchema, "Index \(index) of table \(table) uses the column \(column), which is not declared")
    }

    static func noView(_ view: String) -> PowerSyncError {
        refused(.invalidSchema, "The schema has no view named '\(view)'")
    }

    static func noColumns(_ names: [String], in view: String) -> PowerSyncError {
        refused(
            .invalidSchema,
            "'\(view)' has no column named \(names.map { "'\($0)'" }.joined(separator: ", "))"
        )
    }

    static func noOperations(of view: String) -> PowerSyncError {
        refused(.invalidArgument, "A table diff of '\(view)' needs at least one operation")
    }

    static func insertOnly(_ view: String) -> PowerSyncError {
        refused(.notSupported, "'\(view)' is insert-only: it holds no rows whose changes can be tracked")
    }

    static func schemaReplaced(diffOf view: String) -> PowerSyncError {
        refused(.schemaReplaced, "The table diff of '\(view)' ended, because the schema was replaced")
    }

    static func alreadyRunning(diffOf view: String) -> PowerSyncError {
        refused(.alreadyRunning, "The table diff of '\(view)' is being run already")
    }

    static func unknownOperation(_ name: String) -> PowerSyncError {
        refused(.invalidData, "A table diff holds an unknown operation: \(name)")
    }

    /// SQLite refused the condition of a diff, with its error below.
    static func invalidCondition(
        for operation: String,
        of view: String,
        _ problem: String?,
        _ error: PowerSyncError
    )
        -> PowerSyncError
    {
        .operationFailed(
            message: "The condition for \(operation) of a table diff of '\(view)' is not valid: "
                + (problem ?? "unknown error"),
            underlyingError: error
        )
    }
}

// MARK: - Syncing and uploading

extension PowerSyncError {
    static let noCredentials = refused(
        .connectorFailed,
        "Not signed in: fetchCredentials() returned no credentials."
    )
    static let emptyToken = refused(
        .connectorFailed,
        "The token of the credentials from fetchCredentials() is empty."
    )
    static let unprintableToken = refused(
        .connectorFailed,
        """
        The token of the credentials from fetchCredentials() has a line break or another control character in \
        it, perhaps at its end.
        """
    )

    static func notServiceAddress(_ endpoint: String) -> PowerSyncError {
        refused(
            .connectorFailed,
            """
            The endpoint "\(endpoint)" of the credentials is not an address of a sync service. \
            It must be a URL like https://sync.example.com.
            """
        )
    }

    static func notURL(_ endpoint: String) -> PowerSyncError {
        refused(.connectorFailed, "The endpoint \"\(endpoint)\" of the credentials cannot be used as a URL.")
    }

    /// The engine gave up, for a reason outside SQLite.
    static func syncFailed(_ message: String) -> PowerSyncError {
        refused(.syncFailed, message)
    }

    /// The text is that of the established SDKs.
    static let uploadQueueStalled = refused(
        .uploadQueueStalled,
        "Delaying due to previously encountered CRUD item."
    )
    static let writesWereCleared = refused(
        .cleared,
        "The writes cannot be completed: disconnectAndClear() has removed them from the upload queue since they were read"
    )
    static let rejectionOfOthers = refused(
        .invalidArgument,
        "Only writes that are being completed can be rejected: another batch or transaction has them."
    )

    static func notWriteCheckpoint(_ text: String) -> PowerSyncError {
        refused(.invalidArgument, "The write checkpoint '\(text)' is not a number")
    }

    static let noClientForAuthorities = refused(
        .notSupported,
        "Requests with TrustedAuthorities need the HTTP client of SwiftNIO on Apple platforms: add the product "
            + "PowerSyncNIO, import it, and set httpClient to .nio."
    )
}

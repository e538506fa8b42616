import Dispatch
import GRDB
import PowerSyncCore
import PowerSyncSQLite

/// Opens the connections of a database.
struct ConnectionOpener: Sendable {
    /// How many reading connections a file database has.
    static let readerCount = 4
    /// How long opening is tried while another connection is in the way.
    static let retryBudget = Duration.seconds(5)
    /// The delay after the first attempt; it doubles up to ``longestDelay``.
    static let firstDelay = Duration.milliseconds(10)
    /// The longest delay between two attempts.
    static let longestDelay = Duration.milliseconds(250)

    /// Where the database is.
    let location: DatabaseLocation
    /// Statements of the app that run first on every connection.
    let initialStatements: [String]
    /// Gives the key of the file; `nil` for a file without one.
    var key: DatabaseKey.Source?
    /// What the file begins as, where there is none.
    var seed: SeedFile?
    /// Measures the delays between attempts.
    let clock: any Clock<Duration>
    /// Whether the file is to be in WAL mode, which reading beside writing needs.
    var isWAL = true

    /// Opens the connections.
    ///
    /// Switching to WAL does not wait for other connections, so contention is met by trying again.
    ///
    /// - Throws: GRDB's `DatabaseError`, ``PowerSyncError`` for a directory that cannot be made, a key that does not open the file or a seed
    ///   that is none, `CancellationError`.
    func open() async throws -> any DatabaseWriter {
        if let seed { try await place(seed) }
        try location.createFile()
        location.removeUnfinishedChange()
        location.removeUnfinishedSeeding()
        var delay = ConnectionOpener.firstDelay
        var waited = Duration.zero
        while true {
            do {
                return try await openOnce()
            } catch let error as DatabaseError where error.isContention && waited < ConnectionOpener.retryBudget {
                try await clock.sleep(for: delay)
                waited += delay
                delay = min(delay * 2, ConnectionOpener.longestDelay)
            }
        }
    }

    /// Copying takes its time, so this happens on a thread of its own.
    private func place(_ seed: SeedFile) async throws {
        guard case .file(let path) = location else { throw PowerSyncError.seedInMemory }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            DispatchQueue.global().async { continuation.resume(with: Result { try seed.place(at: path, key: key) }) }
        }
    }

    /// SQLite blocks while it opens a file, so this happens on a thread of its own.
    private func openOnce() async throws -> any DatabaseWriter {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try makeWriter() })
            }
        }
    }

    private func makeWriter() throws -> any DatabaseWriter {
        // Nothing in memory is in a file.
        guard case .file(let path) = location else { return try DatabaseQueue(configuration: makeConfiguration(nil)) }
        let configuration: Configuration
        do {
            configuration = makeConfiguration(try key?())
        } catch {
            throw PowerSyncError.notOpened(error)
        }
        do {
            return isWAL
                ? try DatabasePool(path: path, configuration: configuration)
                : try DatabaseQueue(path: path, configuration: configuration)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB && key != nil {
            throw PowerSyncError.notOpened(
                DatabaseKeyError(DatabaseKey.isReadableWithout(path) ? .notEncrypted : .wrongKey, path: path)
            )
        }
    }

    private func makeConfiguration(_ key: DatabaseKey?) -> Configuration {
        var configuration = Configuration()
        configuration.label = "PowerSync"
        configuration.maximumReaderCount = ConnectionOpener.readerCount
        // Apps expect SQLite's defaults, not GRDB's.
        configuration.foreignKeysEnabled = false
        configuration.acceptsDoubleQuotedStringLiterals = true
        configuration.prepareDatabase { [initialStatements] db in
            try key?.set(on: db)
            try ConnectionSetUp.setDefaults(db)
            let setsKey = try ConnectionOpener.run(initialStatements, db)
            // The app may have asked for temporary files.
            if key != nil || setsKey { try db.execute(sql: CipherKey.noTemporaryFiles) }
        }
        ConnectionSetUp.apply(to: &configuration)
        return configuration
    }
}

// The statements of the app that run first on every connection.
extension ConnectionOpener {
    /// Runs the statements of the app that come first.
    ///
    /// A key for a library without a cipher is refused: SQLite ignores pragmas that it does not know, and the file would not
    /// be encrypted.
    ///
    /// - Returns: Whether one of them is a key.
    /// - Throws: GRDB's `DatabaseError`, or ``PowerSyncError/operationFailed(message:underlyingError:)`` with a
    ///   ``DatabaseKeyError`` below it.
    private static func run(_ texts: [String], _ db: Database) throws -> Bool {
        var hasKey = false
        for text in texts {
            let statements = try db.allStatements(sql: text)
            while let statement = try statements.next() {
                let isKey = setsKey(statement.sql)
                if isKey { _ = try CipherLibrary.of(db) }
                try statement.execute()
                guard isKey else { continue }
                hasKey = true
                // Now, since SQLite drops temporary tables when it changes where they are.
                try db.execute(sql: CipherKey.noTemporaryFiles)
            }
        }
        return hasKey
    }

    private static let keyPragmas: Set<String> = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"]

    /// Whether a statement sets the key of a file, or changes it.
    private static func setsKey(_ sql: String) -> Bool {
        var tokens = SQLTokens(sql)
        guard tokens.next()?.isKeyword("PRAGMA") == true, var name = tokens.next()?.name else { return false }
        var next = tokens.next()
        if next?.isSymbol(".") == true {
            // The first name is that of the schema.
            name = tokens.next()?.name ?? ""
            next = tokens.next()
        }
        guard let next, next.isSymbol("=") || next.isSymbol("(") else { return false }
        return keyPragmas.contains(name.lowercased())
    }
}

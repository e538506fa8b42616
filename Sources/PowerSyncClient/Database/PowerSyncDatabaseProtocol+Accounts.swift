import GRDB
import PowerSyncCore
import PowerSyncSQLite

/// What ``PowerSyncDatabaseProtocol/connect(connector:options:account:ifAnother:)`` does with the data of another account.
public struct OtherAccountPolicy: Sendable, Hashable {
    /// What clearing loses; `nil` when nothing is cleared.
    fileprivate let clearing: SignOutOptions?

    /// Nothing is connected, and an error says so.
    public static let refuse = OtherAccountPolicy(clearing: nil)
    /// The data of the other account is removed, unless writes of it wait for their upload.
    public static let clear = OtherAccountPolicy(clearing: SignOutOptions())

    /// The data of the other account is removed.
    ///
    /// - Parameter discardingUnsent: Whether writes that wait for their upload are lost, too.
    /// - Returns: The policy.
    public static func clear(discardingUnsent: Bool) -> OtherAccountPolicy {
        OtherAccountPolicy(clearing: SignOutOptions(discardsUnsentWrites: discardingUnsent))
    }
}

/// What ``PowerSyncDatabaseProtocol/signOut(_:)`` removes.
public struct SignOutOptions: Sendable, Hashable {
    /// Whether writes that wait for their upload are removed.
    ///
    /// By default they keep the user from being signed out.
    public var discardsUnsentWrites: Bool
    /// Whether local-only tables are emptied, too, which is the default.
    public var clearsLocalTables: Bool
    /// Whether writes that the backend has rejected are kept for ``PowerSyncDatabaseProtocol/rejectedWrites()``.
    ///
    /// By default they go.
    public var keepsRejectedWrites: Bool
    /// The names of tables of the app's own that are emptied in the same transaction.
    public var tables: [String]

    /// Creates options.
    public init(
        discardsUnsentWrites: Bool = false,
        clearsLocalTables: Bool = true,
        keepsRejectedWrites: Bool = false,
        tables: [String] = []
    ) {
        self.discardsUnsentWrites = discardsUnsentWrites
        self.clearsLocalTables = clearsLocalTables
        self.keepsRejectedWrites = keepsRejectedWrites
        self.tables = tables
    }

    fileprivate var clearing: ClearOptions {
        var options: ClearOptions = []
        if clearsLocalTables { options.insert(.localTables) }
        if keepsRejectedWrites { options.insert(.keepingRejectedWrites) }
        return options
    }
}

extension PowerSyncDatabaseProtocol {
    /// Connects for an account, to which the file belongs from then on.
    ///
    /// ```swift
    /// do {
    ///     try await database.connect(connector: connector, account: user.id)
    /// } catch let error as PowerSyncError where error.code == .otherAccount {
    ///     // The last user did not sign out.
    ///     try await database.connect(connector: connector, account: user.id, ifAnother: .clear)
    /// }
    /// ```
    ///
    /// The first call writes a hash of the account to the file, which says nothing outside of it. ``disconnectAndClear(clearLocal:soft:)``
    /// and ``signOut(_:)`` remove it; a soft one keeps it with the data.
    ///
    /// - Parameters:
    ///   - connector: The app's backend.
    ///   - options: `nil` means `ConnectOptions()`.
    ///   - account: What tells the user from others, the same each time; `nil` for the `sub` of the token, which is fetched for that.
    ///   - policy: What becomes of the data of another account.
    /// - Throws: ``PowerSyncError`` as ``connect(connector:options:)``; with the code ``PowerSyncErrorCode/otherAccount`` when the file
    ///   belongs to another account, with ``PowerSyncErrorCode/writesNotUploaded`` when it would be cleared and has writes of that
    ///   account; what the connector throws.
    public func connect(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions? = nil,
        account: String?,
        ifAnother policy: OtherAccountPolicy = .refuse
    ) async throws {
        let database = try requireOwn(for: "connect(connector:options:account:)")
        guard let account = if let account { account } else { try await Self.subject(of: connector) }, !account.isEmpty
        else {
            throw PowerSyncError.noAccount
        }
        if try await !database.belongs(to: account) {
            guard let clearing = policy.clearing else { throw PowerSyncError.otherAccount }
            try await signOut(clearing)
            guard try await database.belongs(to: account) else { throw PowerSyncError.otherAccount }
        }
        try await connect(connector: connector, options: options)
    }

    /// The `sub` of the token that a connector fetches.
    private static func subject(of connector: any PowerSyncBackendConnectorProtocol) async throws -> String? {
        guard let credentials = try await connector.fetchCredentials() else { throw PowerSyncError.noCredentials }
        return WriterWatch.subject(of: credentials.token)
    }

    /// Ends the sync and deletes the data of the user, if nothing is lost by that.
    ///
    /// ```swift
    /// do {
    ///     try await database.signOut()
    /// } catch let error as PowerSyncError where error.code == .writesNotUploaded {
    ///     guard await confirm(error.localizedDescription) else { return }
    ///     try await database.signOut(SignOutOptions(discardsUnsentWrites: true))
    /// }
    /// ```
    ///
    /// It is ``disconnectAndClear(clearLocal:soft:)`` in one transaction with the look at what waits for its upload, and with tables of the
    /// app.
    ///
    /// - Parameter options: What is removed.
    /// - Returns: How many writes were lost that waited for their upload.
    /// - Throws: ``PowerSyncError``. With the code ``PowerSyncErrorCode/writesNotUploaded`` when writes wait; the message has their number,
    ///   and the connection goes on. With ``PowerSyncErrorCode/invalidArgument`` for a name that is no table of the app. Nothing is
    ///   deleted then.
    @discardableResult
    public func signOut(_ options: SignOutOptions = SignOutOptions()) async throws -> Int {
        try await requireOwn(for: "signOut").clear(options)
    }
}

extension SyncedDatabase {
    /// Makes the file an account's, if it is no other's.
    ///
    /// - Returns: Whether it is the account's.
    fileprivate func belongs(to account: String) async throws -> Bool {
        let look: @Sendable (Database) throws -> (name: String, known: String?) = { db in
            let name = Seed.hash(ofUser: account, salt: try KeyValueStore.clientID(db))
            return (name, try KeyValueStore.text(db, .account))
        }
        let seen = try await local.read(look)
        if let known = seen.known { return known == seen.name }
        return try await local.write { db in
            let (name, known) = try look(db)
            if known == nil { try KeyValueStore.set(db, .account, to: name) }
            return known == nil || known == name
        }
    }

    fileprivate func clear(_ options: SignOutOptions) async throws -> Int {
        let check: @Sendable (Database) throws -> Int = { db in
            let waiting = try UploadQueue.count(db)
            guard options.discardsUnsentWrites || waiting == 0 else { throw PowerSyncError.unsentWrites(waiting) }
            if let name = try options.tables.first(where: { try !LocalData.isAppTable(db, $0) }) {
                throw PowerSyncError.noTableToEmpty(name)
            }
            return waiting
        }
        // What is refused does not end the connection, which may upload what waits.
        _ = try await local.read(check)
        return try await Task.ignoringCancellation { [sync] in
            try await sync.disconnectAndClear { db in
                let waiting = try check(db)
                try LocalData.clear(db, options.clearing)
                try LocalData.empty(db, options.tables)
                return waiting
            }
        }
    }
}

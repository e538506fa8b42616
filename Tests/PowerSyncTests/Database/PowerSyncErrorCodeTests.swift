import Foundation
import PowerSync
import PowerSyncTesting
import TestSupport
import Testing

/// The codes by which apps tell refusals apart.
@Suite struct PowerSyncErrorCodeTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        var code: PowerSyncErrorCode
        var message: String
        var operation: @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void

        init(
            _ code: PowerSyncErrorCode,
            _ message: String,
            _ operation: @escaping @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void
        ) {
            self.code = code
            self.message = message
            self.operation = operation
        }

        var testDescription: String { message }
    }

    static let refusals: [Refusal] = [
        Refusal(.noRow, "The query gave no row: SELECT 1 WHERE 0") { database in
            _ = try await database.get("SELECT 1 WHERE 0") { try $0.getInt(index: 0) }
        },
        Refusal(.invalidArgument, "There is no statement in the SQL text ' '") { try await $0.execute(" ") },
        Refusal(.invalidArgument, "There is no negative priority: -1") { database in
            try await database.waitForFirstSync(priority: -1)
        },
        Refusal(.invalidArgument, "crudThrottle is a number of seconds from 0, not -1.0.") { database in
            try await database.connect(connector: SignedOut(), options: ConnectOptions(crudThrottle: -1))
        },
        Refusal(.invalidArgument, "The name of a sync stream is empty.") { database in
            _ = try await database.syncStream(name: "", params: nil).subscribe()
        },
        Refusal(.closed, "The database is closed") { database in
            try await database.close()
            try await database.execute("DELETE FROM users")
        },
        Refusal(.closed, "The database is closed") { database in
            try await database.close()
            try await database.connect(connector: SignedOut())
        },
        Refusal(.invalidSchema, "Index i of table t uses the column b, which is not declared") { database in
            let index = Index(name: "i", columns: [IndexedColumn.ascending("b")])
            let table = Table(name: "t", columns: [.text("a")], indexes: [index])
            try await database.updateSchema(schema: Schema(tables: [table]))
        },
    ]

    @Test(arguments: refusals)
    func aRefusalHasItsCodeAndOneText(_ refusal: Refusal) async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: PowerSyncError.self) { try await refusal.operation(database) }
            #expect(error?.code == refusal.code)
            // The code is no part of what people read.
            #expect(error?.localizedDescription == refusal.message)
            #expect(error?.description == refusal.message)
            guard case .operationFailed(refusal.message, refusal.code as PowerSyncErrorCode)? = error else {
                Issue.record("unexpected error \(String(describing: error))")
                return
            }
        }
    }

    @Test func aContextOutsideOfItsCallbackIsRefused() async throws {
        try await withMemoryDatabase { database in
            let leaked = Shared<(any ConnectionContext)?>(nil)
            try await database.readLock { leaked.value = $0 }
            let context = try #require(leaked.value)
            // On the thread of the callback or another one: the texts differ.
            let error = #expect(throws: PowerSyncError.self) { try context.execute(sql: "SELECT 1", parameters: []) }
            #expect(error?.code == .invalidContext)
        }
    }

    @Test func anErrorThatTellsWhereAnotherCameFromHasThatCode() async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.executeBatch(
                    sql: "INSERT INTO users (id, name) VALUES (uuid(), ?)",
                    parameterSets: [["Ada"], [UInt64.max]]
                )
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func errorsOfSQLiteAndOfOthersHaveNone() {
        #expect(PowerSyncError.sqliteError(extendedResultCode: 5).code == nil)
        #expect(PowerSyncError.operationFailed(message: "no").code == nil)
        #expect(PowerSyncError.operationFailed(underlyingError: CancellationError()).code == nil)
    }

    @Test func aCodeByItselfIsItsName() {
        #expect("\(PowerSyncErrorCode.closed)" == "closed")
        #expect(
            PowerSyncError.operationFailed(underlyingError: PowerSyncErrorCode.closed).localizedDescription == "closed"
        )
    }
}

/// Has nobody signed in.
private struct SignedOut: PowerSyncBackendConnectorProtocol {
    func fetchCredentials() async throws -> PowerSyncCredentials? { nil }
    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}

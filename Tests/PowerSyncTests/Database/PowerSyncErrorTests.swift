import Foundation
import PowerSync
import Testing

/// The texts of errors that apps show and tests compare.
@Suite struct PowerSyncErrorTests {
    struct Underlying: LocalizedError {
        var errorDescription: String? { "no disk" }
    }

    static let texts: [(PowerSyncError, String)] = [
        (.operationFailed(message: "Cannot open", underlyingError: Underlying()), "Cannot open: no disk"),
        (.operationFailed(message: "Cannot open"), "Cannot open"),
        (.operationFailed(underlyingError: Underlying()), "no disk"),
        (.operationFailed(), "An unknown error occurred."),
        (.sqliteError(extendedResultCode: 5), "SQLite failure (code 5)"),
        (.sqliteError(extendedResultCode: 5, errorString: "locked"), "SQLite failure (code 5): locked"),
        (.sqliteError(extendedResultCode: 1, offset: 7), "SQLite failure (code 1) at offset 7"),
        (.sqliteError(extendedResultCode: 1, message: "m"), "SQLite failure (code 1), m"),
        (.sqliteError(extendedResultCode: 1, sql: "SELECT"), "SQLite failure (code 1) for SQL: SELECT"),
        (
            .sqliteError(extendedResultCode: 1, offset: 7, message: "m", errorString: "e", sql: "SELECT"),
            "SQLite failure (code 1): e at offset 7, m for SQL: SELECT"
        ),
    ]

    @Test(arguments: texts)
    func textHasThePartsThatAreThere(_ error: PowerSyncError, _ text: String) {
        #expect(error.localizedDescription == text)
    }

    @Test func constraintsHaveTheirExtendedCode() async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada", id: "1")
            let sql = "INSERT INTO users (id) VALUES ('1')"
            let error = await #expect(throws: PowerSyncError.self) { try await database.execute(sql) }
            #expect(
                error?.localizedDescription == "SQLite failure (code 1555): constraint failed, "
                    + "UNIQUE constraint failed: ps_data__users.id for SQL: \(sql)"
            )
        }
    }
}

import Foundation
import GRDB
import GRDBSQLite
import Testing

@testable import PowerSyncCore

/// The SQLite that the tests run over.
@Suite struct SQLiteLibraryTests {
    /// The version that `scripts/test-sqlite` puts under the tests; `nil` when they run over the system's.
    private static let wantedVersion = ProcessInfo.processInfo.environment["POWERSYNC_SQLITE_VERSION"]
    private static let wantedOption = ProcessInfo.processInfo.environment["POWERSYNC_SQLITE_OPTION"] ?? ""

    @Test(.enabled(if: wantedVersion != nil)) func isTheOneThatIsToBeTested() throws {
        #expect(String(cString: sqlite3_libversion()) == Self.wantedVersion)
        #expect(sqlite3_compileoption_used(Self.wantedOption) == 1, "\(Self.wantedOption)")
    }

    @Test func isNewEnough() {
        #expect(sqlite3_libversion_number() >= 3_038_000)
    }
}

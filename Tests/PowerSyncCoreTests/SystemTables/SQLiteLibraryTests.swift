import Foundation
import GRDB
import GRDBSQLite
import TestSupport
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

    /// `scripts/test-sqlite keyed` gives each file a key, whichever code opens it.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["POWERSYNC_KEYED_FILES"] != nil))
    func filesOfTheKeyedRunHaveAKey() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("test.db")
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "CREATE TABLE zanzibar (a); INSERT INTO zanzibar VALUES ('zanzibar')") }
        #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA cipher_version") }?.isEmpty == false)
        try queue.close()
        let file = try Data(contentsOf: URL(filePath: path))
        #expect(file.count >= 8192)
        #expect(file.prefix(15) != Data("SQLite format 3".utf8))
        #expect(file.range(of: Data("zanzibar".utf8)) == nil)
    }

    @Test func isNewEnough() {
        #expect(sqlite3_libversion_number() >= 3_038_000)
    }
}

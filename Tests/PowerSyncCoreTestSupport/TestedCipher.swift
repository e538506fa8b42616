import GRDB

/// The cipher of the SQLite library that the tests run over.
package enum TestedCipher {
    /// Whether there is one: `scripts/test-sqlite sqlcipher` runs the tests over SQLCipher.
    package static let isThere: Bool = {
        let version = try? DatabaseQueue().read { try String.fetchOne($0, sql: "PRAGMA cipher_version") }
        return version?.isEmpty == false
    }()
}

import Testing

/// A kind of bucket storage that suites are run over.
///
/// The ones that need a server are where tests of that server are: `TestedStorage.postgres` comes from `PostgresTestSupport`.
package struct TestedStorage: Sendable, CustomTestStringConvertible {
    package let testDescription: String
    private let makeHome: @Sendable () throws -> any StorageHome

    /// Describes a storage.
    ///
    /// - Parameters:
    ///   - name: Its name in the output of tests, which tells it apart from the others.
    ///   - makeHome: Makes a place for one storage, with nothing in it.
    package init(_ name: String, makeHome: @escaping @Sendable () throws -> any StorageHome) {
        testDescription = name
        self.makeHome = makeHome
    }

    /// The model that the others are compared with.
    package static let inMemory: Self = .init("inMemory") { try InMemoryStorageHome() }
    package static let sqlite: Self = .init("sqlite") { try SQLiteStorageHome(.sqlite) }
    /// SQLite that moves everything into segments, again and again.
    package static let sealed: Self = .init("sealed") { try SQLiteStorageHome(.sealed, sealing: .eager) }

    /// Makes a place for one storage, with nothing in it.
    package func home() throws -> any StorageHome { try makeHome() }
}

extension TestedStorage: Hashable {
    package static func == (one: TestedStorage, other: TestedStorage) -> Bool {
        one.testDescription == other.testDescription
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(testDescription) }
}

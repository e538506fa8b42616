import Dispatch
import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// When the transactions of a sync are copied from the log into the file.
@Suite(.timeLimit(.minutes(1))) struct PostponedCopyTests {
    private let folder: TemporaryFolder
    private let pool: DatabasePool
    private let database: LocalDatabase

    init() throws {
        folder = try TemporaryFolder()
        var configuration = Configuration()
        ConnectionSetUp.apply(to: &configuration)
        pool = try DatabasePool(path: folder.path("test.db"), configuration: configuration)
        try pool.write { try $0.execute(sql: "CREATE TABLE blobs (data BLOB)") }
        database = LocalDatabase(
            source: .writer(pool),
            schema: .success(try ClientSchema(testSchema)),
            logger: DefaultLogger(writers: [])
        )
    }

    private static let size = 8_000_000

    /// Whether what ``write(_:)`` writes is in the file, and not only in its log.
    private static func isCopied(_ path: String) throws -> Bool {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.size] as? NSNumber).intValue > size
    }

    private static func write(_ db: Database) throws {
        try db.execute(sql: "INSERT INTO blobs (data) VALUES (zeroblob(\(size)))")
    }

    @Test func whoHasWaitedWritesBeforeTheCopyIsMade() async throws {
        let (path, pool) = (folder.path("test.db"), pool)
        let wasCopied = NIOLockedValueBox<Bool?>(nil)
        try await database.writeMuch { db in
            try Self.write(db)
            pool.asyncWrite { db in
                try db.execute(sql: "INSERT INTO blobs (data) VALUES (x'00')")
                db.afterNextTransaction { _ in
                    wasCopied.withLockedValue { $0 = try? Self.isCopied(path) }
                }
            } completion: { _, _ in
            }
        }
        #expect(wasCopied.withLockedValue { $0 } == false)
        #expect(try Self.isCopied(path))
        try await database.close()
    }

    @Test func theCopyIsMadeForATaskThatWasCancelled() async throws {
        let (began, resume) = (TaskGate(), DispatchSemaphore(value: 0))
        let task = Task { [database] in
            try await database.writeMuch { db in
                try Self.write(db)
                began.open()
                resume.wait()
            }
        }
        try await began.pass()
        task.cancel()
        resume.signal()
        try await task.value
        #expect(try Self.isCopied(folder.path("test.db")))
        try await database.close()
    }

    @Test func theCopyIsMadeForADatabaseThatWasClosedMeanwhile() async throws {
        try await database.writeMuch { [database] db in
            try Self.write(db)
            database.end()
        }
        #expect(try Self.isCopied(folder.path("test.db")))
        try pool.close()
    }
}

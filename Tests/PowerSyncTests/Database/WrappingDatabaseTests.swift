import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// What a wrapper does not forward, because it does not know it, reaches the database inside all the same.
@Suite(.timeLimit(.minutes(1))) struct WrappingDatabaseTests {
    private let harness = SyncHarness()
    private var wrapper: any PowerSyncDatabaseProtocol { WrappingDatabase(inner: harness.database) }

    @Test func uploadQueue() async throws {
        for id in ["a", "b", "c"] { try await harness.insert(id) }
        #expect(try await wrapper.getClientId() == harness.database.getClientId())
        #expect(try await wrapper.getUploadQueueStats(includeSize: true).count == 3)
        var stats = try wrapper.watchUploadQueue().makeAsyncIterator()
        #expect(try await stats.next()?.count == 3)
        let batch = try #require(try await wrapper.getCrudBatch(limit: 1))
        #expect(batch.hasMore)
        try await batch.complete()
        let transaction = try #require(try await wrapper.getNextCrudTransaction())
        #expect(transaction.crud.map(\.id) == ["b"])
        try await transaction.complete(rejecting: transaction.crud.map { UploadRejection($0, reason: "no") })
        var ids: [String] = []
        for try await transaction in wrapper.getCrudTransactions() { ids += transaction.crud.map(\.id) }
        #expect(ids == ["c"])

        let rejected = try await wrapper.rejectedWrites()
        // The clock of the database inside.
        #expect(rejected.map(\.rejectedAt) == [harness.date.now])
        try await wrapper.restoreRejectedWrites(rejected)
        try await wrapper.restoreParkedWrites()
        try await wrapper.removeRejectedWrites(rejected)
        #expect(try await wrapper.getUploadQueueStats().count == 2)
    }

    /// Its contexts are not GRDB's, so reading through them would not do.
    @Test func uploadQueueOverConnectionsOfTheApp() async throws {
        try await withTemporaryDirectory { directory in
            let inner = OpenedPowerSyncDatabase(
                schema: testSchema,
                pool: PlainPool(path: directory.appending(path: "app.db").path),
                identifier: directory.path,
                logger: DefaultLogger(writers: [])
            )
            let wrapper = WrappingDatabase(inner: inner)
            try await wrapper.insertUser("Ada")
            try await wrapper.getCrudBatch()?.complete()
            #expect(try await wrapper.getUploadQueueStats().count == 0)
            try await wrapper.close()
        }
    }

    @Test func changes() async throws {
        try await withMemoryDatabase { database in
            let wrapper = WrappingDatabase(inner: database)
            var changes = wrapper.onChange(tables: ["users"], throttle: 0).makeAsyncIterator()
            #expect(try await changes.next() == [])
            try await wrapper.insertUser("Ada")
            #expect(try await changes.next() == ["users"])
            var later = wrapper.onChange(tables: ["users"], throttle: 0, triggerImmediately: false).makeAsyncIterator()
            try await wrapper.insertUser("Bob")
            #expect(try await later.next() == ["users"])
        }
    }

    @Test func tableDiffs() async throws {
        try await withMemoryDatabase { database in
            let wrapper = WrappingDatabase(inner: database)
            var options = TableDiffOptions()
            options.throttle = 0
            try await wrapper.withTableDiff(of: "users", options: options) { diff in
                let handed = HandedChanges()
                let run = Task { try await diff.run { try handed.note($0) } }
                try await wrapper.insertUser("Ada", id: "1")
                #expect(await handed.next() == ["INSERT 1"])
                try await diff.stop()
                try await run.value
            }
            try await wrapper.trackTableDiff(of: "users").stop()
        }
    }

    @Test func syncOnce() async throws {
        let task = Task { [wrapper, harness] in
            try await wrapper.syncOnce(connector: harness.connector, deadline: .seconds(25))
        }
        try await harness.acceptNext().send(.checkpoint(1), .done)
        #expect(try await task.value.isComplete)
    }

    @Test func checkpointRequests() async throws {
        try await wrapper.connect(connector: harness.connector, options: ConnectOptions(checkpointMode: .requests()))
        let stream = try await harness.acceptNext()
        try await harness.service.nextCheckpointRequest().respond(1)
        async let request = wrapper.requestCheckpoint()
        try await harness.service.nextCheckpointRequest().respond(2)
        let accepted = try await request
        stream.send(.checkpoint(1, writeCheckpoint: 2), .done)
        try await accepted.waitForSync()
    }

    @Test func invalidatedCredentials() async throws {
        try await wrapper.connect(connector: harness.connector, options: nil)
        _ = try await harness.acceptNext()
        await wrapper.invalidateCredentials()
        #expect(try await harness.acceptNext().token == "token 2")
    }

    @Test func status() async throws {
        try await wrapper.connect(connector: harness.connector, options: nil)
        let stream = try await harness.acceptNext()
        #expect(wrapper.currentStatus.connected)
        stream.send(.checkpoint(1), .done)
        try await wrapper.waitForStatus { $0.hasSynced == true }
    }

    @Test func attachmentQueuesOfBothAreNeighbours() {
        let table = SharedAttachmentTable.named("attachments", of: wrapper)
        #expect(table === SharedAttachmentTable.named("attachments", of: harness.database))
        #expect(table === SharedAttachmentTable.named("attachments", of: wrapper))
    }

    /// A type that knows the further requirements answers them itself, also where a default argument is left out.
    @Test func aTypeMayAnswerItself() async throws {
        let database: any PowerSyncDatabaseProtocol = RefusingDatabase(inner: harness.database)
        await #expect(throws: RefusingDatabase.Refusal.self) { try await database.getCrudBatch() }
        await #expect(throws: RefusingDatabase.Refusal.self) { try await database.getUploadQueueStats() }
        await #expect(throws: RefusingDatabase.Refusal.self) { try await database.trackTableDiff(of: "lists") }
        await #expect(throws: RefusingDatabase.Refusal.self) { try await database.requestCheckpoint() }
        await #expect(throws: RefusingDatabase.Refusal.self) {
            try await database.syncOnce(connector: harness.connector, deadline: .seconds(1))
        }
        for changes in [database.onChange(tables: []), database.onChange(tables: [], triggerImmediately: false)] {
            var changes = changes.makeAsyncIterator()
            await #expect(throws: RefusingDatabase.Refusal.self) { try await changes.next() }
        }
    }
}

/// An app's database that answers the further requirements itself.
private struct RefusingDatabase: ForwardingDatabase {
    struct Refusal: Error {}

    let inner: any PowerSyncDatabaseProtocol

    func getCrudBatch(limit: Int32) async throws -> CrudBatch? { throw Refusal() }
    func getUploadQueueStats(includeSize: Bool) async throws -> UploadQueueStats { throw Refusal() }
    func trackTableDiff(of view: String, options: TableDiffOptions) async throws -> TableDiff { throw Refusal() }
    func requestCheckpoint() async throws -> any CheckpointRequest { throw Refusal() }
    func syncOnce(
        connector: any PowerSyncBackendConnectorProtocol,
        options: ConnectOptions,
        deadline: Duration
    ) async throws -> SyncOnceResult { throw Refusal() }
    func onChange(
        tables: Set<String>,
        throttle: TimeInterval,
        triggerImmediately: Bool
    ) -> AsyncThrowingStream<Set<String>, any Error> {
        AsyncThrowingStream { throw Refusal() }
    }
}

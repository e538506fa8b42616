import GRDB
import Testing

@testable import PowerSync

@Suite(.timeLimit(.minutes(1))) struct ChangeObserverTests {
    private func makeWriter() throws -> DatabaseQueue {
        let writer = try DatabaseQueue()
        try writer.write { try $0.execute(sql: "CREATE TABLE a (x); CREATE TABLE b (x)") }
        return writer
    }

    private func region(_ table: String, _ writer: DatabaseQueue) throws -> DatabaseRegion {
        try writer.read { try $0.makeStatement(sql: "SELECT * FROM \(table)").databaseRegion }
    }

    /// Whether a signal is waiting.
    ///
    /// Ends the observation.
    private func hasSignal(_ observer: ChangeObserver) async -> Bool {
        observer.finish()
        var signals = observer.signals.makeAsyncIterator()
        return await signals.next() != nil
    }

    @Test func changesOfTheRegionAreSignalled() async throws {
        let writer = try makeWriter()
        let observer = ChangeObserver {}
        observer.register(with: writer)
        observer.track(try region("a", writer))
        try await writer.write { try $0.execute(sql: "INSERT INTO a VALUES (1)") }
        #expect(await hasSignal(observer))
    }

    @Test func changesElsewhereAreNot() async throws {
        let writer = try makeWriter()
        let observer = ChangeObserver {}
        observer.register(with: writer)
        observer.track(try region("a", writer))
        try await writer.write { try $0.execute(sql: "INSERT INTO b VALUES (1)") }
        #expect(await !hasSignal(observer))
    }

    @Test func rolledBackChangesAreNot() async throws {
        let writer = try makeWriter()
        let observer = ChangeObserver {}
        observer.register(with: writer)
        try await writer.writeWithoutTransaction { db in
            try db.inTransaction {
                try db.execute(sql: "INSERT INTO a VALUES (1)")
                return .rollback
            }
        }
        #expect(await !hasSignal(observer))
    }

    @Test("A fetch that begins before registration is followed by a signal")
    func fetchBeforeRegistrationIsRepeated() async throws {
        let writer = try makeWriter()
        let early = ChangeObserver {}
        early.willFetch()
        early.register(with: writer)
        let late = ChangeObserver {}
        late.register(with: writer)
        try await writer.writeWithoutTransaction { _ in }
        late.willFetch()
        #expect(await hasSignal(early))
        #expect(await !hasSignal(late))
    }

    @Test("When the region changes during a transaction, its commit counts")
    func openTransactionCountsForNewRegion() async throws {
        let writer = try makeWriter()
        let observer = ChangeObserver {}
        observer.register(with: writer)
        let (a, b) = (try region("a", writer), try region("b", writer))
        observer.track(a)
        try await writer.write { db in
            try db.execute(sql: "INSERT INTO b VALUES (1)")
            observer.track(b)
        }
        #expect(await hasSignal(observer))
    }
}
